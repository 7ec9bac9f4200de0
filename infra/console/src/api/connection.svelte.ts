/** Whether the last request reached the service. */
class Connection {
  lost = $state(false);
}

export const connection = new Connection();
