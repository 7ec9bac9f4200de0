/** Secrets that the service has just shown, until the page is closed: a new record gets an address of its own first. */
class Shown {
  /** By the id of the record, then by the name of the secret. */
  secrets = $state<Record<string, Record<string, string>>>({});
}

export const shown = new Shown();
