/** Writes a command of the operator. */

import { session } from '../../../session/session.svelte';

/** The command works on this account and project where it is not told another one. */
const DEFAULTS = { account: 'acme', project: 'demo' };

export function operatorCommand(words: readonly string[], project: string): string {
  const account = session.principal?.account;
  const scope = [
    ...(account === undefined || account === DEFAULTS.account ? [] : ['--account', account]),
    ...(project === DEFAULTS.project ? [] : ['--project', project]),
  ];
  return ['millrace', 'ops', ...words, ...scope].map(quoted).join(' ');
}

/** Returns a word as a shell reads it. */
function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
