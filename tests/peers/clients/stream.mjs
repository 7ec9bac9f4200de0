// Follows the update messages of a run with the package `eventsource`, as a page would: messages without a name, no own
// reconnection. Prints each message, and `stopped` when the client has given up by itself.
import { createRequire } from 'node:module';
import process from 'node:process';

const [modules, url] = process.argv.slice(2);
const { EventSource } = createRequire(`${modules}/`)('eventsource');

const source = new EventSource(url);
source.onmessage = ({ lastEventId, data }) => console.log(JSON.stringify({ id: lastEventId, ...JSON.parse(data) }));
source.onerror = ({ code }) => {
  if (source.readyState === EventSource.CLOSED) console.log(JSON.stringify({ stopped: code ?? null }));
};
