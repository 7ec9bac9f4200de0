/**
 * Has a chart drawn by a worker, and passes on what the reader does with it.
 *
 * Each chart has a worker of its own, because anyone who may write to a data store can write a chart: one that
 * hangs keeps no other from being drawn, and ends with its view.
 */

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
  /** A parameter has changed by a gesture. */
  value: (signal: string, value: unknown) => void;
}

/** Time for one order, in milliseconds. */
const MAX_MS = 20_000;

/** Fields of events that Vega reads, beside the coordinates. */
const FIELDS = ['button', 'buttons', 'altKey', 'ctrlKey', 'metaKey', 'shiftKey', 'deltaX', 'deltaY', 'deltaMode', 'pointerId', 'pointerType'];

export class Chart {
  readonly #canvas = document.createElement('canvas');
  readonly #listener: Listener;
  readonly #worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  readonly #queue: Order[] = [];
  /** Set while the worker follows an order. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #place = { x: 0, y: 0 };
  /** The canvas may be on the page for longer, until another one is drawn. */
  #over = false;

  constructor({ spec, rows }: Contents, look: Look, listener: Listener) {
    this.#listener = listener;
    this.#worker.onmessage = ({ data }: MessageEvent<Report>) => this.#hear(data);
    this.#worker.onerror = (event) => this.#fail(event.message || 'The code that draws charts could not be loaded. Reload the page.');
    const canvas = this.#canvas.transferControlToOffscreen();
    this.#send({ kind: 'draw', canvas, spec, rows, look }, [canvas]);
  }

  set(signal: string, value: unknown): void {
    this.#put({ kind: 'input', signal, value });
  }

  close(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#worker.onmessage = this.#worker.onerror = null;
    this.#worker.terminate();
  }

  #fail(message: string): void {
    this.close();
    this.#listener.failed(new Error(message));
  }

  #hear(report: Report): void {
    switch (report.kind) {
      case 'drawn':
        for (const type of new Set([...report.gestures, 'pointerup', 'pointercancel'])) if (!/^(touch|drag)/.test(type)) this.#listen(type);
        this.#listener.drawn(this.#canvas, report.inputs);
        return this.#next();
      case 'failed':
        return this.#fail(report.message);
      case 'ready':
        return this.#next();
      case 'size':
        this.#canvas.style.width = `${report.width}px`;
        this.#canvas.style.height = `${report.height}px`;
        return;
      case 'tooltip':
        return this.#listener.tooltip(report.text, this.#place.x, this.#place.y);
      case 'cursor':
        this.#canvas.style.cursor = report.cursor;
        return;
      case 'value':
        return this.#listener.value(report.signal, report.value);
    }
  }

  #listen(type: string): void {
    // Vega takes a wheel that a chart listens to for its zoom.
    this.#canvas.addEventListener(type, (event) => this.#gesture(event as PointerEvent), { passive: type !== 'wheel' });
  }

  #gesture(event: PointerEvent): void {
    if (event.type === 'wheel') event.preventDefault();
    // A drag may leave the chart, and Vega listens to the window for its end.
    if (event.type === 'pointerdown') this.#canvas.setPointerCapture(event.pointerId);
    const { left, top } = this.#canvas.getBoundingClientRect();
    const [clientX, clientY] = [event.clientX - left, event.clientY - top];
    this.#place = { x: clientX, y: clientY };
    const named = Object.fromEntries(FIELDS.filter((name) => name in event).map((name) => [name, event[name as keyof PointerEvent]]));
    const type = event.type === 'pointercancel' ? 'pointerup' : event.type;
    this.#put({ kind: 'gesture', gesture: { ...named, type, clientX, clientY } });
  }

  /** Sends an order when the worker is done with those before it. */
  #put(order: Order): void {
    if (this.#over) return;
    const last = this.#queue.at(-1);
    if (last !== undefined && replaces(order, last)) this.#queue.pop();
    this.#queue.push(order);
    if (this.#timer === undefined) this.#next();
  }

  #next(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const order = this.#queue.shift();
    if (order !== undefined) this.#send(order);
  }

  #send(order: Order, transfer: Transferable[] = []): void {
    this.#timer = setTimeout(() => this.#fail(`The chart took more than ${MAX_MS / 1_000} seconds and was stopped. Show fewer rows.`), MAX_MS);
    this.#worker.postMessage(order, transfer);
  }
}

/** Of moves in a row, and of values of one field, only the last one is worth drawing. */
function replaces(order: Order, before: Order): boolean {
  if (order.kind === 'gesture' && before.kind === 'gesture') return isMove(order.gesture) && isMove(before.gesture);
  return order.kind === 'input' && before.kind === 'input' && order.signal === before.signal;
}

function isMove({ type }: Gesture): boolean {
  return type === 'pointermove';
}
