/** Makes one item of the events of each activity, timer, child run and signal. */

import type { Schemas } from '../../../api/client';

export type HistoryEvent = Schemas['HistoryEvent'];
export type PendingActivity = Schemas['PendingActivity'];

export interface Item {
  /** Event that began it. */
  readonly id: number;
  readonly kind: 'activity' | 'timer' | 'child run' | 'signal';
  readonly name: string;
  /** Id of the activity or timer, which is unique in the run. */
  readonly key: string;
  /** As far as the events say. */
  readonly status: string;
  /** Times in milliseconds. */
  readonly scheduled: number;
  readonly started?: number;
  readonly completed?: number;
  readonly attempts: number;
  readonly input: readonly unknown[];
  readonly result?: readonly unknown[];
  readonly error?: Schemas['RunFailure'];
  /** Failure of the attempt before the last. */
  readonly lastFailure?: Schemas['RunFailure'];
  readonly child?: { workflow_id: string; run_id: string };
  /** Principal that sent a signal. */
  readonly sender?: string;
  /** Seconds until a timer fires. */
  readonly seconds?: number;
}

const ENDS: Record<string, string> = {
  COMPLETED: 'completed',
  FIRED: 'completed',
  FAILED: 'failed',
  TIMED_OUT: 'timed_out',
  CANCELED: 'canceled',
  TERMINATED: 'terminated',
};

/** Returns the type of an event without what all have in common. */
export function eventName(event: HistoryEvent): string {
  return event.event_type.replace(/^EVENT_TYPE_/, '');
}

/** Adds events that follow those of `items`. */
export function withEvents(items: readonly Item[], events: readonly HistoryEvent[]): Item[] {
  const all = [...items];
  const places = new Map(all.map((item, index) => [item.id, index]));
  for (const event of events) {
    const begun = beginning(event);
    if (begun !== undefined) {
      places.set(begun.id, all.length);
      all.push(begun);
      continue;
    }
    const place = places.get(beginningOf(event));
    const item = place === undefined ? undefined : all[place];
    if (place !== undefined && item !== undefined) all[place] = { ...item, ...change(event) };
  }
  return all;
}

function beginning(event: HistoryEvent): Item | undefined {
  const at = Date.parse(event.event_time);
  const common = { id: event.event_id, scheduled: at, attempts: 1 };
  const { activity, timer, child, signal } = event;
  switch (eventName(event)) {
    case 'ACTIVITY_TASK_SCHEDULED':
      if (!activity) return undefined;
      return { ...common, kind: 'activity', name: activity.name, key: activity.id, status: 'scheduled', input: activity.input };
    case 'TIMER_STARTED':
      if (!timer) return undefined;
      return { ...common, kind: 'timer', name: 'Timer', key: timer.id, status: 'running', started: at, input: [], seconds: timer.duration };
    case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
      if (!child) return undefined;
      return {
        ...common,
        kind: 'child run',
        name: child.type,
        key: child.workflowId,
        status: 'scheduled',
        input: child.input,
        child: { workflow_id: child.workflowId, run_id: child.runId },
      };
    case 'WORKFLOW_EXECUTION_SIGNALED': {
      if (!signal) return undefined;
      const sender = signal.identity === undefined ? {} : { sender: signal.identity };
      const received = { status: 'received', started: at, completed: at, input: signal.input, ...sender };
      return { ...common, kind: 'signal', name: signal.name, key: '', ...received };
    }
    default:
      return undefined;
  }
}

function beginningOf(event: HistoryEvent): number {
  return Number(event.activity?.scheduledEventId ?? event.timer?.startedEventId ?? event.child?.initiatedEventId ?? -1);
}

function change(event: HistoryEvent): Partial<Item> {
  const at = Date.parse(event.event_time);
  const name = eventName(event);
  if (name === 'ACTIVITY_TASK_STARTED') {
    return { started: at, attempts: event.attempt, ...(event.failure && { lastFailure: event.failure }) };
  }
  if (name === 'CHILD_WORKFLOW_EXECUTION_STARTED') return { started: at, status: 'running' };
  const end = Object.keys(ENDS).find((end) => name.endsWith(`_${end}`));
  if (end === undefined) return {};
  return {
    completed: at,
    status: ENDS[end] ?? 'completed',
    ...(event.result && { result: event.result }),
    ...(event.failure && { error: event.failure }),
  };
}

export interface Shown {
  status: string;
  attempts: number;
  /** Times in milliseconds. */
  from: number;
  /** Begin of the last attempt. */
  started: number | undefined;
  to: number;
  open: boolean;
  failure: Schemas['RunFailure'] | undefined;
}

/**
 * Returns how an item stands: events of an attempt come with its end, so that an open one is told by what is
 * pending.
 */
export function standing(item: Item, pending: PendingActivity | undefined, closedAt: number | undefined, now: number): Shown {
  const done = { attempts: item.attempts, from: item.scheduled, started: item.started, failure: item.error ?? item.lastFailure };
  if (item.completed !== undefined) return { ...done, status: item.status, to: Math.max(item.completed, item.scheduled), open: false };
  if (closedAt !== undefined) return { ...done, status: 'canceled', to: closedAt, open: false };
  if (pending === undefined) return { ...done, status: item.status, to: now, open: true };
  const started = pending.lastStartedTime ? Date.parse(pending.lastStartedTime) : undefined;
  const status = started !== undefined ? 'running' : pending.lastFailure ? 'retrying' : 'scheduled';
  return { status, attempts: pending.attempt, from: item.scheduled, started, to: now, open: true, failure: pending.lastFailure ?? undefined };
}

/** Returns round times between two times, in milliseconds from the first, at most `most`. */
export function marks(span: number, most: number): number[] {
  if (!(span > 0)) return [0];
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1.8e6, 3.6e6, 7.2e6, 1.08e7, 2.16e7, 4.32e7, 8.64e7];
  let step = steps.find((size) => span / size <= most) ?? 8.64e7;
  while (span / step > most) step *= 2;
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step);
}
