/** Reads a conversation with an agent from the run's messages and activities. */

import type { Schemas } from '../../api/client';
import type { Update } from '../../api/follow';

type Task = Schemas['HistoryTask'];

export type Turn =
  | { kind: 'agent' | 'user' | 'note'; at: number; text: string; partial?: boolean }
  | { kind: 'tool'; at: number; name: string; status: string; input: unknown; result: unknown; error: string | undefined };

/** Types of messages that are texts of the agent. */
const SPOKEN = new Set(['MESSAGE', 'AGENT_UPDATE', 'QUESTION']);
/** Type of messages that carry a part of a text under way; the whole text follows. */
const PART = 'PARTIAL_TEXT';
/** Activities that prepare the conversation and ask the model, whose texts the messages show. */
const INTERNAL = new Set(['agent_prepare', 'agent_model_turn']);

/** Returns what was said and done, oldest first. */
export function turnsOf(updates: readonly Update[], tasks: readonly Task[]): Turn[] {
  const turns: Turn[] = [];
  let part: Extract<Turn, { kind: 'agent' | 'user' | 'note' }> | undefined;
  for (const update of updates) {
    if (update.type === PART) {
      if (part === undefined) turns.push((part = { kind: 'agent', at: update.timestamp, text: '', partial: true }));
      part.text += update.message;
      continue;
    }
    // The complete text follows its parts.
    if (SPOKEN.has(update.type) && part !== undefined) turns.splice(turns.indexOf(part), 1);
    part = undefined;
    turns.push({ kind: SPOKEN.has(update.type) ? 'agent' : 'note', at: update.timestamp, text: update.message });
  }
  for (const task of tasks) {
    const at = Date.parse(task.scheduled);
    if (task.type === 'signal' && task.signalName === 'UserInput') turns.push({ kind: 'user', at, text: textOf(task.input[0]) });
    if (task.type !== 'activity' || INTERNAL.has(task.activityName ?? '')) continue;
    const call = callOf(task.input[0]);
    turns.push({
      kind: 'tool',
      at,
      name: call?.name ?? task.activityName ?? 'tool',
      status: task.status,
      input: call?.arguments ?? task.input,
      result: task.result[0],
      error: task.error?.message,
    });
  }
  return turns.sort((a, b) => a.at - b.at);
}

/** Returns the call of a tool that an activity carries out. */
function callOf(input: unknown): { name: string; arguments?: unknown } | undefined {
  if (typeof input !== 'object' || input === null || !('call' in input)) return undefined;
  const { call } = input;
  if (typeof call !== 'object' || call === null || !('name' in call) || typeof call.name !== 'string') return undefined;
  return { name: call.name, arguments: 'arguments' in call ? call.arguments : undefined };
}

function textOf(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input === 'object' && input !== null && 'message' in input && typeof input.message === 'string') return input.message;
  return JSON.stringify(input) ?? '';
}
