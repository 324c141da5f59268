import type { Command } from 'commander';
import { declareCat } from '../files/cat.ts';
import { declareCp } from '../files/cp.ts';
import { declareDiff } from '../files/diff.ts';
import { declareEdit } from '../files/edit.ts';
import { declareExport } from '../files/export.ts';
import { declareGet } from '../files/get.ts';
import { declareGrep } from '../files/grep.ts';
import { declareImport } from '../files/import.ts';
import { declareDu, declareLs, declareStat, declareTree } from '../files/list.ts';
import { declareMv } from '../files/mv.ts';
import { declarePut } from '../files/put.ts';
import { declareRm } from '../files/rm.ts';
import type { Choose } from '../run/choose.ts';
import type { Invocation } from '../run/invocation.ts';

/**
 * Declares the verbs, in the order in which help lists them. What a verb takes and what it does lie in one file: the program that
 * starts holds what is declared there alone (`infra/bundle-cli.ts`), and loads the file of a verb when that verb runs.
 */
export function declareFileVerbs(program: Command, choose: Choose): void {
  const chosen =
    <Typed extends readonly unknown[]>(load: () => Promise<Run<Typed>>) =>
    (...typed: Typed): void =>
      choose(async (invocation) => (await load())(...typed, invocation));
  const verb = <Typed extends readonly unknown[]>(
    declare: (parent: Command, run: (...typed: Typed) => void) => void,
    load: () => Promise<Run<Typed>>,
  ): void => declare(program, chosen(load));

  verb(declareLs, async () => (await import('../files/list.ts')).runLs);
  verb(declareTree, async () => (await import('../files/list.ts')).runTree);
  verb(declareDu, async () => (await import('../files/list.ts')).runDu);
  verb(declareStat, async () => (await import('../files/list.ts')).runStat);
  verb(declareGrep, async () => (await import('../files/grep.ts')).runGrep);
  verb(declareCat, async () => (await import('../files/cat.ts')).runCat);
  verb(declarePut, async () => (await import('../files/put.ts')).runPut);
  verb(declareGet, async () => (await import('../files/get.ts')).runGet);
  verb(declareEdit, async () => (await import('../files/edit.ts')).runEdit);
  verb(declareDiff, async () => (await import('../files/diff.ts')).runDiff);
  verb(declareCp, async () => (await import('../files/cp.ts')).runCp);
  verb(declareMv, async () => (await import('../files/mv.ts')).runMv);
  verb(declareRm, async () => (await import('../files/rm.ts')).runRm);
  verb(declareImport, async () => (await import('../files/import.ts')).runImport);
  declareExport(program, {
    run: chosen(async () => (await import('../files/export.ts')).runExport),
    runBackup: chosen(async () => (await import('../keys/export-backup.ts')).runExportBackup),
  });
}

type Run<Typed extends readonly unknown[]> = (...taken: [...Typed, Invocation]) => Promise<number>;
