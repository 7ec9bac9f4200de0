/**
 * Places of tables in a picture, in pixels: a table stands right of those that it refers to; tables without a
 * relationship stand in a grid below.
 */

import type { Schemas } from '../../../api/client';

type Table = Schemas['SchemaTable'];
type Relationship = Schemas['Relationship'];

export interface Box {
  table: Table;
  x: number;
  y: number;
  height: number;
}

export interface Line {
  relationship: Relationship;
  from: Box;
  to: Box;
  /** Path of SVG. */
  path: string;
}

export interface Picture {
  boxes: Box[];
  lines: Line[];
  width: number;
  height: number;
}

export const BOX_WIDTH = 230;
export const HEAD = 30;
export const ROW = 20;
/** Columns that a box shows. */
export const MAX_ROWS = 12;
const GAP_X = 90;
const GAP_Y = 24;
const MARGIN = 16;
/** Tables that stand below each other in one column of the picture. */
const MAX_STACK = 12;
const GRID_COLUMNS = 6;

export function picture(tables: readonly Table[], relationships: readonly Relationship[]): Picture {
  const boxes = new Map(tables.map((table) => [table.name.toLowerCase(), { table, x: 0, y: 0, height: heightOf(table) }]));
  const ends = relationships.flatMap((relationship) => {
    const from = boxes.get(tableOf(relationship.from));
    const to = boxes.get(tableOf(relationship.to));
    return from === undefined || to === undefined ? [] : [{ relationship, from, to }];
  });
  const parents = new Map<Box, Box[]>();
  for (const { relationship, from, to } of ends) {
    const [child, parent] = relationship.type === 'one-to-many' ? [to, from] : [from, to];
    for (const box of [child, parent]) if (!parents.has(box)) parents.set(box, []);
    if (child !== parent) parents.get(child)?.push(parent);
  }

  const layers: Box[][] = [];
  for (const [box, layer] of layersOf(parents)) (layers[layer] ??= []).push(box);
  let x = MARGIN;
  let bottom = 0;
  for (const layer of layers.filter(Boolean)) {
    const middle = (box: Box) => {
      const above = parents.get(box) ?? [];
      return above.reduce((sum, parent) => sum + parent.y, 0) / Math.max(1, above.length);
    };
    const ordered = layer.map((box) => ({ box, middle: middle(box) })).sort((a, b) => a.middle - b.middle);
    for (let start = 0; start < ordered.length; start += MAX_STACK) {
      let y = MARGIN;
      for (const { box } of ordered.slice(start, start + MAX_STACK)) {
        [box.x, box.y] = [x, y];
        y += box.height + GAP_Y;
      }
      bottom = Math.max(bottom, y);
      x += BOX_WIDTH + GAP_X;
    }
  }

  const alone = [...boxes.values()].filter((box) => !parents.has(box));
  let top = bottom === 0 ? MARGIN : bottom + GAP_Y;
  const across = Math.max(GRID_COLUMNS, Math.ceil(Math.sqrt(alone.length)));
  for (let start = 0; start < alone.length; start += across) {
    const row = alone.slice(start, start + across);
    row.forEach((box, index) => ([box.x, box.y] = [MARGIN + index * (BOX_WIDTH + GAP_Y), top]));
    top += Math.max(...row.map((box) => box.height)) + GAP_Y;
  }

  const all = [...boxes.values()];
  return {
    boxes: all,
    lines: ends.map((end) => ({ ...end, path: pathOf(end.relationship, end.from, end.to) })),
    width: all.reduce((most, box) => Math.max(most, box.x + BOX_WIDTH), 0) + MARGIN,
    height: all.reduce((most, box) => Math.max(most, box.y + box.height), 0) + MARGIN,
  };
}

/**
 * Number of tables on the longest way to one that refers to none. A reference that closes a circle does not
 * count.
 */
function layersOf(parents: ReadonlyMap<Box, readonly Box[]>): Map<Box, number> {
  const layers = new Map<Box, number>();
  const open = new Set<Box>();
  const layer = (box: Box): number => {
    const known = layers.get(box);
    if (known !== undefined) return known;
    if (open.has(box)) return -1;
    open.add(box);
    let most = -1;
    for (const parent of parents.get(box) ?? []) most = Math.max(most, layer(parent));
    open.delete(box);
    layers.set(box, most + 1);
    return most + 1;
  };
  for (const box of parents.keys()) layer(box);
  return pulled(layers, parents);
}

/** Moves each table as near as possible to those that refer to it. */
function pulled(layers: Map<Box, number>, parents: ReadonlyMap<Box, readonly Box[]>): Map<Box, number> {
  const children = new Map<Box, Box[]>();
  for (const [child, boxes] of parents) for (const parent of boxes) {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [child]);
    else known.push(child);
  }
  for (const box of [...layers.keys()].sort((a, b) => (layers.get(b) ?? 0) - (layers.get(a) ?? 0))) {
    const nearest = (children.get(box) ?? []).reduce((least, child) => Math.min(least, (layers.get(child) ?? 0) - 1), Infinity);
    if (Number.isFinite(nearest)) layers.set(box, Math.max(layers.get(box) ?? 0, nearest));
  }
  return layers;
}

export function tableOf(end: string): string {
  return end.slice(0, end.indexOf('.')).toLowerCase();
}

function columnOf(end: string): string {
  return end.slice(end.indexOf('.') + 1).toLowerCase();
}

export function heightOf({ columns }: Table): number {
  return HEAD + Math.min(columns.length, MAX_ROWS) * ROW + (columns.length > MAX_ROWS ? ROW : 0) + 6;
}

function pathOf({ from: fromEnd, to: toEnd }: Relationship, from: Box, to: Box): string {
  const start = heightAt(from, columnOf(fromEnd));
  const end = heightAt(to, columnOf(toEnd));
  if (from.x === to.x) {
    const side = from.x + BOX_WIDTH;
    return `M${side} ${start}C${side + 50} ${start} ${side + 50} ${end} ${side} ${end}`;
  }
  const rightwards = from.x < to.x;
  const startX = rightwards ? from.x + BOX_WIDTH : from.x;
  const endX = rightwards ? to.x : to.x + BOX_WIDTH;
  const bend = (rightwards ? 1 : -1) * Math.max(40, Math.abs(endX - startX) / 2);
  return `M${startX} ${start}C${startX + bend} ${start} ${endX - bend} ${end} ${endX} ${end}`;
}

function heightAt(box: Box, column: string): number {
  const index = box.table.columns.findIndex(({ name }) => name.toLowerCase() === column);
  return box.y + HEAD + (Math.min(index < 0 ? 0 : index, MAX_ROWS) + 0.5) * ROW;
}

/** True if the box and the rectangle have a point in common. */
export function within(box: Box, left: number, top: number, right: number, bottom: number): boolean {
  return box.x < right && box.x + BOX_WIDTH > left && box.y < bottom && box.y + box.height > top;
}
