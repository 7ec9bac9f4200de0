/** Work that a person starts, such as a save. */
export class Task {
  busy = $state(false);
  /** Why the last run failed; undefined while there is no reason to say so. */
  error = $state<unknown>();

  async run(work: () => Promise<void>): Promise<void> {
    this.busy = true;
    this.error = undefined;
    try {
      await work();
    } catch (cause) {
      this.error = cause;
    }
    this.busy = false;
  }
}
