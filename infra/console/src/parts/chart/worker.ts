/** Draws a chart beside the page, which would stand still meanwhile: the rows of a query can be many. */

import { draw, messageOf, type Drawn } from './draw';
import type { Order, Report } from './messages';
import { Container, repeat, Surface } from './surface';

const tell = (report: Report): void => postMessage(report);
let drawn: (Drawn & { surface: Surface }) | undefined;

addEventListener('message', ({ data }: MessageEvent<Order>) => void follow(data));

async function follow(order: Order): Promise<void> {
  try {
    switch (order.kind) {
      case 'draw': {
        const surface = new Surface(order.canvas);
        drawn = { surface, ...(await draw(new Container(surface, order.look, tell), order)) };
        return tell({ kind: 'drawn', gestures: [...surface.types], inputs: drawn.inputs });
      }
      case 'gesture':
        if (drawn !== undefined) repeat(drawn.surface, order.gesture);
        await drawn?.view.runAsync();
        break;
      case 'input':
        await drawn?.set(order.signal, order.value);
    }
    tell({ kind: 'ready' });
  } catch (error) {
    tell({ kind: 'failed', message: messageOf(error) });
  }
}
