/**
 * Stands in for the elements of a page that Vega draws on, inside a worker: it has a canvas, but no document.
 */

import { CanvasHandler, CanvasRenderer, Renderer, renderModule } from 'vega-scenegraph';

import type { Gesture, Look, Report } from './messages';

/** Name under which Vega finds the renderer. */
export const SURFACE = 'surface';

/** Longest side of a chart, in pixels of the page. */
const MAX_SIDE = 4_000;
/** Most pixels of a canvas: 64 MB, which the browser has up to three times while it shows one. */
const MAX_PIXELS = MAX_SIDE * MAX_SIDE;
/** A word of CSS; the address of a picture is no cursor, because the page would load it. */
const CURSOR = /^[a-z-]{0,20}$/;

/** The canvas, as Vega uses one. */
export class Surface extends EventTarget {
  readonly tagName = 'canvas';
  /** Types of events that are listened to. */
  readonly types = new Set<string>();

  constructor(readonly canvas: OffscreenCanvas) {
    super();
  }

  override addEventListener(type: string, listener: EventListener): void {
    this.types.add(type);
    super.addEventListener(type, listener);
  }

  getContext(): OffscreenCanvasRenderingContext2D | null {
    return this.canvas.getContext('2d');
  }

  getBoundingClientRect(): DOMRect {
    return new DOMRect(0, 0, this.canvas.width, this.canvas.height);
  }

  set width(pixels: number) {
    this.canvas.width = pixels;
  }

  set height(pixels: number) {
    this.canvas.height = pixels;
  }
}

/** The element around the canvas. */
export class Container {
  readonly childNodes: Surface[];
  readonly style;

  constructor(
    readonly surface: Surface,
    readonly look: Look,
    readonly tell: (report: Report) => void,
  ) {
    this.childNodes = [surface];
    this.style = {
      set cursor(cursor: string) {
        if (CURSOR.test(cursor)) tell({ kind: 'cursor', cursor });
      },
      removeProperty: () => tell({ kind: 'cursor', cursor: '' }),
    };
  }

  // The page names the chart for those who cannot see it.
  setAttribute(): void {}
  removeAttribute(): void {}
}

class SurfaceRenderer extends CanvasRenderer {
  override initialize(container: Container, width: number, height: number, origin: number[]) {
    this._options = {};
    this._canvas = container.surface;
    return Renderer.prototype.initialize.call(this, container, width, height, origin, container.look.ratio);
  }

  override resize(width: number, height: number, origin: number[]) {
    const container = this._el as Container;
    if (!(width <= MAX_SIDE && height <= MAX_SIDE)) throw new Error(`The chart is more than ${MAX_SIDE} pixels wide or high.`);
    container.tell({ kind: 'size', width, height });
    return super.resize(width, height, origin, Math.min(container.look.ratio, Math.sqrt(MAX_PIXELS / (width * height))));
  }
}

renderModule(SURFACE, { renderer: SurfaceRenderer, headless: SurfaceRenderer, handler: CanvasHandler });

// Vega measures texts on a canvas that it asks the document for, and follows a drag by events of the window.
const outside = new EventTarget();
Object.assign(globalThis, { window: outside, document: { createElement: () => new OffscreenCanvas(1, 1) } });

/** Does on a chart what the reader did on the page. */
export function repeat(surface: Surface, gesture: Gesture): void {
  const { type, ...fields } = gesture;
  for (const target of [surface, outside]) target.dispatchEvent(Object.assign(new Event(type), fields));
}
