/** Makes a chat of what an agent's run says about itself. */

import type { Update } from '../../../api/follow';

export interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
  /** Absent until the tool has answered. */
  result?: { text: string; isError: boolean };
}

export type Bubble =
  | { kind: 'user'; text: string }
  | { kind: 'agent'; text: string; calls: ToolCall[] };

/** Reads the answer to the query `Conversation`. What is not as expected is left out. */
export function bubblesOf(answer: unknown): Bubble[] {
  const messages = field(answer, 'messages');
  if (!Array.isArray(messages)) return [];
  const bubbles: Bubble[] = [];
  const calls = new Map<string, ToolCall>();
  for (const message of messages as unknown[]) {
    const role = field(message, 'role');
    if (role === 'user') bubbles.push({ kind: 'user', text: text(message, 'text') });
    if (role === 'assistant') {
      const list = field(message, 'tool_calls');
      const own = (Array.isArray(list) ? (list as unknown[]) : []).map(
        (call): ToolCall => ({ id: text(call, 'id'), name: text(call, 'name'), arguments: field(call, 'arguments') }),
      );
      own.forEach((call) => calls.set(call.id, call));
      const question = own.find((call) => call.name === 'ask_user');
      const words = [text(message, 'text'), question === undefined ? '' : text(question.arguments, 'question')];
      bubbles.push({ kind: 'agent', text: words.filter(Boolean).join('\n\n'), calls: own });
    }
    if (role === 'tool') {
      const results = field(message, 'results');
      for (const result of Array.isArray(results) ? (results as unknown[]) : []) {
        const call = calls.get(text(result, 'tool_call_id'));
        const words = text(result, 'text');
        if (call === undefined) continue;
        call.result = { text: words, isError: field(result, 'is_error') === true };
        if (field(result, 'answer') !== undefined) bubbles.push({ kind: 'user', text: text(result, 'answer') });
      }
    }
  }
  return bubbles;
}

export interface Live {
  /** Text of the turn that is under way; empty where none has come. */
  partial: string;
  /** What the agent said since the conversation was read. */
  said: string[];
  /** What it does. */
  doing: string;
}

/** Reads the messages of the run. `since` is the time of the last one that the conversation has. */
export function liveOf(updates: readonly Update[], since: number): Live {
  const live: Live = { partial: '', said: [], doing: '' };
  let turn = -1;
  let attempt = -1;
  for (const update of updates) {
    const number = (name: string) => Number(field(update.details, name) ?? -1);
    const { type, message } = update;
    if (type === 'PARTIAL_TEXT') {
      const isLater = number('turn') > turn || (number('turn') === turn && number('attempt') > attempt);
      if (number('turn') < turn || (number('turn') === turn && number('attempt') < attempt)) continue;
      live.partial = isLater ? message : live.partial + message;
      [turn, attempt] = [number('turn'), number('attempt')];
      continue;
    }
    if (type === 'PROGRESS') {
      live.doing = message;
      if (field(update.details, 'tool') === undefined) [turn, attempt] = [Math.max(turn, number('turn')), -1];
    }
    if (['PROGRESS', 'MESSAGE', 'QUESTION', 'AGENT_UPDATE', 'complete', 'terminated'].includes(type)) live.partial = '';
    if (['MESSAGE', 'QUESTION', 'complete', 'terminated'].includes(type)) live.doing = '';
    if (update.timestamp > since && (type === 'MESSAGE' || type === 'QUESTION')) live.said.push(message);
  }
  return live;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function text(value: unknown, name: string): string {
  const member = field(value, name);
  return typeof member === 'string' ? member : '';
}
