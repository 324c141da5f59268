import { createHash } from 'node:crypto';
import type { Mutant } from '@stryker-mutator/api/core';

/** A draw of mutants: the same seed and share choose the same ones for as long as the code is the same. */
export interface Draw {
  readonly seed: string;
  /** The chance of each mutant to be drawn, above 0 and at most 1. */
  readonly share: number;
}

const VARIABLE = 'DRAWN_MUTANTS';

/** Hands a draw to the processes that this one starts; undefined takes it back. */
export function handOver(draw: Draw | undefined): void {
  process.env[VARIABLE] = JSON.stringify(draw ?? null);
}

/** @returns the draw that was handed over; undefined where every mutant is tried. */
export function handedOver(): Draw | undefined {
  return (JSON.parse(process.env[VARIABLE] ?? 'null') as Draw | null) ?? undefined;
}

/** @returns whether a mutant is in the draw. */
export function isDrawn(
  { seed, share }: Draw,
  { fileName, location, mutatorName, replacement }: Mutant,
): boolean {
  const file = fileName.slice(fileName.lastIndexOf('/src/'));
  const { start, end } = location;
  const name = [seed, file, start.line, start.column, end.line, end.column, mutatorName, replacement].join(
    '\n',
  );
  return createHash('sha256').update(name).digest().readUInt32BE() < share * 2 ** 32;
}
