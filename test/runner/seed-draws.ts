import fc from 'fast-check';
import { seedOfRun } from './draws.ts';

// vitest.config.ts has written the run's seed into the environment: all files of a run draw from one.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: seedOfRun(process.env) });
