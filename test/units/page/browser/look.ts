import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/**
 * Blocks across and down; a letter is much smaller than one, so that fonts of other machines make little difference.
 */
const [COLUMNS, ROWS] = [48, 28];
/**
 * The most that two colours may differ in red, green and blue together, of 255 each: fonts alone never bring colours of
 * one theme further apart.
 */
const MOST_APART = 60;

/** The mean colours of a picture, row by row, each as six hexadecimal digits. */
type Blocks = readonly (readonly string[])[];

/** The share of blocks, 0–1, whose colour is not that of the reference `looks/NAME.json`. */
export function shareOff(blocks: Blocks, name: string): number {
  const expected = (JSON.parse(readFileSync(fileOf(name), 'utf8')) as readonly string[]).map((row) =>
    row.split(' '),
  );
  const off = blocks.flatMap((line, row) =>
    line.filter((colour, column) => distanceOf(colour, expected[row]?.[column] ?? '') > MOST_APART),
  );
  return off.length / (COLUMNS * ROWS);
}

/** Makes a picture the reference. */
export function keepLook(blocks: Blocks, name: string): void {
  const rows = blocks.map((row) => row.join(' '));
  writeFileSync(fileOf(name), `${JSON.stringify(rows, undefined, 2)}\n`);
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(`looks/${name}.json`, import.meta.url));
}

function distanceOf(one: string, other: string): number {
  return [0, 2, 4]
    .map((at) => Math.abs(partOf(one, at) - partOf(other, at)))
    .reduce((sum, difference) => sum + difference);
}

function partOf(colour: string, at: number): number {
  return Number.parseInt(colour.slice(at, at + 2), 16);
}

/** Made smaller by the browser itself, on a page of its own. */
export function blocksOf(blank: Page, picture: Uint8Array): Promise<Blocks> {
  return blank.evaluate(
    async ([base64, columns, rows]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${base64}`;
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width: columns, height: rows });
      const context = canvas.getContext('2d');
      if (context === null) throw new Error('there is no canvas');
      context.imageSmoothingQuality = 'high';
      context.drawImage(image, 0, 0, columns, rows);
      const { data } = context.getImageData(0, 0, columns, rows);
      const hexAt = (at: number): string =>
        Array.from(data.subarray(at, at + 3), (part) => part.toString(16).padStart(2, '0')).join('');
      return Array.from({ length: rows }, (_, row) =>
        Array.from({ length: columns }, (__, column) => hexAt((row * columns + column) * 4)),
      );
    },
    [Buffer.from(picture).toString('base64'), COLUMNS, ROWS] as const,
  );
}
