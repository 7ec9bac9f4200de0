/** Places the tasks of a run on a time axis. */

import type { Schemas } from '../../api/client';

type Task = Schemas['HistoryTask'];

export interface Bar {
  task: Task;
  name: string;
  /** From the run's start, in milliseconds. */
  from: number;
  to: number;
  running: boolean;
}

export interface Axis {
  /** Time from the start to the end of the picture, in milliseconds. */
  span: number;
  /** Marks of the axis, in milliseconds from the start. */
  ticks: number[];
}

const OPEN = new Set(['scheduled', 'running']);

/** Returns a bar for each task. `began` and `now` are in milliseconds since 1970. */
export function barsOf(tasks: readonly Task[], began: number, now: number): Bar[] {
  return tasks.map((task) => {
    const running = OPEN.has(task.status) && !task.completed;
    const from = Math.max(0, Date.parse(task.scheduled) - began);
    const to = task.completed ? Date.parse(task.completed) - began : running ? now - began : from;
    return { task, name: nameOf(task), from, to: Math.max(from, to), running };
  });
}

function nameOf(task: Task): string {
  switch (task.type) {
    case 'activity':
      return task.activityName ?? 'activity';
    case 'timer':
      return `timer ${task.timerId ?? ''}`;
    case 'signal':
      return `signal ${task.signalName ?? ''}`;
    case 'childWorkflow':
      return task.workflowType ?? 'child run';
    default:
      return task.type;
  }
}

/** Steps between marks of an axis, in milliseconds. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 18e5, 36e5, 108e5, 216e5, 432e5, 864e5, 6048e5];
const MAX_TICKS = 6;

/** Returns an axis that ends at or after `end`. */
export function axisOf(end: number): Axis {
  const span = Math.max(end, 1);
  const step = STEPS.find((size) => span / size <= MAX_TICKS) ?? Math.ceil(span / MAX_TICKS);
  return { span, ticks: Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step) };
}
