/**
 * Has a chart drawn by a worker, and passes on what the reader does with it.
 *
 * Each chart has a worker of its own, because anyone who may write to a data store can write a chart: one that
 * hangs keeps no other from being drawn, and ends with its view.
 */

import type { Input, Look, Order, Report } from './messages';

export interface Contents {
  spec: Record<string, unknown>;
  rows: readonly Record<string, unknown>[];
}

export interface Listener {
  drawn: (canvas: HTMLCanvasElement, inputs: Input[]) => void;
  failed: (error: Error) => void;
  /** Text for a place in the chart, in pixels; an empty one hides it. */
  tooltip: (text: string, x: number, y: number) => void;
  /** A parameter has changed, and not by its field. */
  value: (signal: string, value: unknown) => void;
}

/** Time for one order, in milliseconds. */
const MAX_MS = 20_000;
/** Time without an order after which the worker is asked whether it still answers, in milliseconds. */
const CHECK_MS = 10_000;

/** Fields of events that Vega reads, beside the coordinates. */
const FIELDS = ['button', 'buttons', 'altKey', 'ctrlKey', 'metaKey', 'shiftKey', 'deltaX', 'deltaY', 'deltaMode', 'pointerId', 'pointerType'];

export class Chart {
  readonly #canvas = document.createElement('canvas');
  readonly #listener: Listener;
  #worker: Worker | undefined;
  readonly #queue: Order[] = [];
  #state: 'idle' | 'busy' | 'over' = 'idle';
  #isDrawn = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #place = { x: 0, y: 0 };

  constructor({ spec, rows }: Contents, look: Look, listener: Listener) {
    this.#listener = listener;
    try {
      const canvas = this.#canvas.transferControlToOffscreen();
      this.#worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
      this.#worker.onmessage = ({ data }: MessageEvent<Report>) => this.#hear(data);
      this.#worker.onerror = (event) => this.#fail(event.message || 'The code that draws charts could not be loaded. Reload the page.');
      this.#send({ kind: 'draw', canvas, spec, rows, look }, [canvas]);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  /** Sets a parameter. Until the chart is drawn its fields are those of the chart before it. */
  set(signal: string, value: unknown): void {
    if (this.#isDrawn) this.#put({ kind: 'input', signal, value });
  }

  close(): void {
    this.#state = 'over';
    clearTimeout(this.#timer);
    if (this.#worker !== undefined) this.#worker.onmessage = this.#worker.onerror = null;
    this.#worker?.terminate();
  }

  #fail(message: string): void {
    this.close();
    this.#listener.failed(new Error(message));
  }

  #hear(report: Report): void {
    switch (report.kind) {
      case 'drawn':
        for (const type of new Set([...report.gestures, 'pointerup', 'pointercancel'])) if (!/^(touch|drag)/.test(type)) this.#listen(type);
        this.#isDrawn = true;
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
    if (this.#state === 'over') return;
    const replaced = replacedBy(order, this.#queue);
    if (replaced >= 0) this.#queue.splice(replaced, 1);
    this.#queue.push(order);
    if (this.#state === 'idle') this.#next();
  }

  #next(): void {
    clearTimeout(this.#timer);
    const order = this.#queue.shift();
    if (order !== undefined) return this.#send(order);
    this.#state = 'idle';
    this.#timer = setTimeout(() => this.#send({ kind: 'check' }), CHECK_MS);
  }

  #send(order: Order, transfer: Transferable[] = []): void {
    this.#state = 'busy';
    this.#timer = setTimeout(() => this.#fail(`The chart took more than ${MAX_MS / 1_000} seconds and was stopped. Show fewer rows.`), MAX_MS);
    this.#worker?.postMessage(order, transfer);
  }
}

/**
 * Returns the index of the waiting order that another one makes useless, or -1: of moves in a row, and of
 * values of one field, only the last is worth drawing.
 */
function replacedBy(order: Order, queue: readonly Order[]): number {
  for (let at = queue.length - 1; at >= 0; at -= 1) {
    const waiting = queue[at];
    if (order.kind === 'input' && waiting?.kind === 'input') {
      if (order.signal === waiting.signal) return at;
    } else if (order.kind === 'gesture' && waiting?.kind === 'gesture' && isMove(order) && isMove(waiting)) {
      if (order.gesture.type === waiting.gesture.type) return at;
    } else return -1;
  }
  return -1;
}

function isMove({ gesture }: Order & { kind: 'gesture' }): boolean {
  return gesture.type.endsWith('move');
}
