declare module 'virtual:roles' {
  /** Permissions of each role. */
  const roles: Record<string, readonly string[]>;
  export default roles;
}
