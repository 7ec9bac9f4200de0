/** Has charts drawn by a worker, and passes on what the reader does with them. */

import { untrack } from 'svelte';

import type { Gesture, Input, Look, Order, Report } from './messages';

export interface Contents {
  spec: Record<string, unknown>;
  rows: readonly Record<string, unknown>[];
}

export interface Listener {
  drawn: (canvas: HTMLCanvasElement, inputs: Input[]) => void;
  failed: (error: Error) => void;
  /** Text for a place in the chart, in pixels; an empty one hides it. */
  tooltip: (text: string, x: number, y: number) => void;
}

/** Time for a chart, in milliseconds. One that never ends would keep the others from being drawn. */
const MAX_MS = 20_000;

/** Fields of events that Vega reads, beside the coordinates. */
const FIELDS = ['button', 'buttons', 'altKey', 'ctrlKey', 'metaKey', 'shiftKey', 'deltaX', 'deltaY', 'deltaMode', 'pointerId', 'pointerType'];

let worker: Worker | undefined;
let count = 0;
const charts = new Map<number, Chart>();

/** Begins to draw. Returns the chart, to be closed. */
export function drawChart(contents: Contents, look: Look, listener: Listener): Chart {
  const chart = new Chart(listener);
  charts.set(chart.id, chart);
  const canvas = chart.canvas.transferControlToOffscreen();
  try {
    send({ kind: 'draw', chart: chart.id, canvas, look, ...contents }, [canvas]);
  } catch (error) {
    chart.fail(error instanceof Error ? error : new Error(String(error)));
  }
  return chart;
}

class Chart {
  readonly id = ++count;
  readonly canvas = document.createElement('canvas');
  readonly #listener: Listener;
  readonly #timer: ReturnType<typeof setTimeout>;
  #pending = true;
  #busy = false;
  /** Latest place of the pointer; earlier ones need not be drawn. */
  #waiting: Gesture | undefined;
  #place = { x: 0, y: 0 };

  constructor(listener: Listener) {
    this.#listener = listener;
    this.#timer = setTimeout(() => stopAll(`Drawing took more than ${MAX_MS / 1_000} seconds and was stopped. Show fewer rows.`), MAX_MS);
  }

  get pending(): boolean {
    return this.#pending;
  }

  hear(report: Report): void {
    switch (report.kind) {
      case 'drawn':
        this.#end();
        for (const type of report.gestures) if (!/^(touch|drag)/.test(type)) this.#listen(type);
        return this.#listener.drawn(this.canvas, report.inputs);
      case 'failed':
        return this.fail(new Error(report.message));
      case 'size':
        this.canvas.style.width = `${report.width}px`;
        this.canvas.style.height = `${report.height}px`;
        return;
      case 'tooltip':
        return this.#listener.tooltip(report.text, this.#place.x, this.#place.y);
      case 'cursor':
        this.canvas.style.cursor = report.cursor;
        return;
      case 'ready':
        this.#busy = false;
        if (this.#waiting !== undefined) this.#pass(this.#waiting);
        this.#waiting = undefined;
    }
  }

  set(signal: string, value: unknown): void {
    send({ kind: 'input', chart: this.id, signal, value });
  }

  fail(error: Error): void {
    this.#end();
    charts.delete(this.id);
    this.#listener.failed(error);
  }

  close(): void {
    this.#end();
    if (charts.delete(this.id)) send({ kind: 'remove', chart: this.id });
  }

  #end(): void {
    this.#pending = false;
    clearTimeout(this.#timer);
  }

  #listen(type: string): void {
    // Vega takes a wheel that a chart listens to for its zoom.
    this.canvas.addEventListener(type, (event) => this.#gesture(event as PointerEvent), { passive: type !== 'wheel' });
    // A drag may leave the chart, and Vega listens to the window for its end.
    if (type === 'pointerdown') this.canvas.addEventListener('pointerup', (event) => this.#gesture(event));
  }

  #gesture(event: PointerEvent): void {
    if (event.type === 'wheel') event.preventDefault();
    if (event.type === 'pointerdown') this.canvas.setPointerCapture(event.pointerId);
    const { left, top } = this.canvas.getBoundingClientRect();
    const [clientX, clientY] = [event.clientX - left, event.clientY - top];
    this.#place = { x: clientX, y: clientY };
    const named = Object.fromEntries(FIELDS.filter((name) => name in event).map((name) => [name, event[name as keyof PointerEvent]]));
    const gesture = { ...named, type: event.type, clientX, clientY };
    if (event.type === 'pointermove' && this.#busy) this.#waiting = gesture;
    else {
      this.#waiting = undefined;
      this.#pass(gesture);
    }
  }

  #pass(gesture: Gesture): void {
    this.#busy = true;
    send({ kind: 'gesture', chart: this.id, gesture });
  }
}

export type { Chart };

function send(order: Order, transfer: Transferable[] = []): void {
  if (worker === undefined) {
    if (order.kind !== 'draw') return;
    worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data: report }: MessageEvent<Report>) => untrack(() => charts.get(report.chart)?.hear(report));
    worker.onerror = (event) => stopAll(event.message || 'The code that draws charts could not be loaded. Reload the page.');
  }
  worker.postMessage(order, transfer);
}

/** Ends the worker. Charts that are drawn stay as they are; the next one begins another worker. */
function stopAll(reason: string): void {
  worker?.terminate();
  worker = undefined;
  for (const chart of [...charts.values()]) {
    if (chart.pending) chart.fail(new Error(reason));
    else charts.delete(chart.id);
  }
}
