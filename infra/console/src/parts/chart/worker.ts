/** Draws charts beside the page, which would stand still meanwhile: the rows of a query can be many. */

import { draw } from './draw';
import type { Order, Report } from './messages';
import { Container, repeat, Surface, type Tell } from './surface';
import type { View } from './vega';

interface Drawn {
  surface: Surface;
  view: View;
}

const charts = new Map<number, Drawn>();
const removed = new Set<number>();

addEventListener('message', ({ data: order }: MessageEvent<Order>) => {
  const tell: Tell = (report) => postMessage({ chart: order.chart, ...report } as Report);
  void follow(order, tell);
});

async function follow(order: Order, tell: Tell): Promise<void> {
  const drawn = charts.get(order.chart);
  switch (order.kind) {
    case 'draw':
      await begin(order, tell);
      return;
    case 'gesture':
      try {
        if (drawn !== undefined) repeat(drawn.surface, order.gesture);
        await drawn?.view.runAsync();
      } finally {
        tell({ kind: 'ready' });
      }
      return;
    case 'input':
      await drawn?.view.signal(order.signal, order.value).runAsync();
      return;
    case 'remove':
      if (drawn === undefined) removed.add(order.chart);
      drawn?.view.finalize();
      charts.delete(order.chart);
  }
}

async function begin({ chart, canvas, spec, rows, look }: Order & { kind: 'draw' }, tell: Tell): Promise<void> {
  try {
    const surface = new Surface(canvas);
    const { view, inputs } = await draw(new Container(surface, look, tell), spec, rows, look);
    if (removed.delete(chart)) return void view.finalize();
    charts.set(chart, { surface, view });
    tell({ kind: 'drawn', gestures: [...surface.types], inputs });
  } catch (error) {
    removed.delete(chart);
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}
