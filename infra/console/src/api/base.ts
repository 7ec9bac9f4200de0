/**
 * Address in front of `/console` and `/api/v1`: the origin, and for a deployed API its stage or base path.
 */
export const BASE = import.meta.env.DEV
  ? document.location.origin
  : document.location.origin + document.location.pathname.replace(/\/console\/?$/, '');
