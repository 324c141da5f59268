import type { Command, Result } from '../simulation/history.ts';

/** One line to a process of players. */
export interface PlayerRequest {
  readonly id: number;
  readonly tenant: string;
  readonly command: Command | 'operate' | 'log';
}

/** One line from it. */
export interface PlayerAnswer {
  readonly id: number;
  /** `process.hrtime`, which all processes of a machine share. */
  readonly call: number;
  readonly end: number;
  readonly result: Result;
}
