/** What the page and the worker that draws a chart say to each other. */

/** How a chart looks on the page. */
export interface Look {
  /** Of the chart, in pixels of the page. */
  width: number;
  height: number;
  /** Pixels of the screen in one of the page. */
  ratio: number;
  text: string;
  line: string;
  accent: string;
  dark: boolean;
}

/** What the reader does on a chart; coordinates begin at its upper left corner. */
export type Gesture = Record<string, unknown> & { type: string; clientX: number; clientY: number };

/** A field of the page whose value is a parameter of the chart. */
export interface Input {
  signal: string;
  /** Type of the field: `range`, `select`, `radio`, `checkbox` or a type of HTML. */
  type: string;
  label: string;
  /** What can be chosen, with its label; none for a field that takes any value. */
  options: { value: unknown; label: string }[];
  min: number;
  max: number;
  /** `any` where every number will do. */
  step: number | 'any';
  value: unknown;
}

/** Each is answered by `drawn`, `failed` or `ready` before the next one is sent. */
export type Order =
  | { kind: 'draw'; canvas: OffscreenCanvas; spec: Record<string, unknown>; rows: readonly Record<string, unknown>[]; look: Look }
  | { kind: 'gesture'; gesture: Gesture }
  | { kind: 'input'; signal: string; value: unknown }
  /** Asks for nothing but the answer: a chart may hang by a timer of its own. */
  | { kind: 'check' };

export type Report =
  /** `gestures` are the types of events that the chart listens to. */
  | { kind: 'drawn'; gestures: string[]; inputs: Input[] }
  | { kind: 'failed'; message: string }
  | { kind: 'ready' }
  /** In pixels of the page. */
  | { kind: 'size'; width: number; height: number }
  /** Empty where there is nothing to tell. */
  | { kind: 'tooltip'; text: string }
  | { kind: 'cursor'; cursor: string }
  /** A parameter has changed, and not by its field. */
  | { kind: 'value'; signal: string; value: unknown };
