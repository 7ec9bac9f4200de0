/** What the page and the worker that draws charts say to each other. */

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

/** A field of the page whose value is a parameter of the chart, as the specification describes it. */
export interface Input {
  signal: string;
  /** Type of the field: `range`, `select`, `radio`, `checkbox` or a type of HTML. */
  input: string;
  name?: string;
  options?: unknown[];
  labels?: string[];
  min?: number;
  max?: number;
  step?: number;
  value: unknown;
}

export type Order = { chart: number } & (
  | { kind: 'draw'; canvas: OffscreenCanvas; spec: Record<string, unknown>; rows: readonly Record<string, unknown>[]; look: Look }
  | { kind: 'gesture'; gesture: Gesture }
  | { kind: 'input'; signal: string; value: unknown }
  | { kind: 'remove' }
);

export type Report = { chart: number } & (
  /** `gestures` are the types of events that the chart listens to. */
  | { kind: 'drawn'; gestures: string[]; inputs: Input[] }
  | { kind: 'failed'; message: string }
  /** In pixels of the page. */
  | { kind: 'size'; width: number; height: number }
  /** Empty where there is nothing to tell. */
  | { kind: 'tooltip'; text: string }
  | { kind: 'cursor'; cursor: string }
  /** The last gesture is dealt with. */
  | { kind: 'ready' }
);
