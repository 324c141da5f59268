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
import { declareCheckpoint } from '../history/checkpoint.ts';
import { declareLog } from '../history/log.ts';
import { declareRedact } from '../history/redact.ts';
import { declareRestore } from '../history/restore-version.ts';
import { declareShow } from '../history/show.ts';
import { declareHistorySwitch } from '../history/switch.ts';
import { declareTrace } from '../history/trace.ts';
import { declareRestoreAt, declareUndo } from '../history/undo-and-restore-at.ts';
import { declareVerify } from '../history/verify.ts';
import { declareBackup } from '../keys/backup.ts';
import { declareDoctor } from '../keys/doctor.ts';
import { declareExpire } from '../keys/expire.ts';
import { declareInit } from '../keys/init.ts';
import {
  declareMigrate,
  declareRewrap,
  declareRotate,
  declareShowRoot,
  declareStatus,
} from '../keys/keys.ts';
import { declareDecodeName, declareEncodeName } from '../keys/names.ts';
import { declareShred } from '../keys/shred.ts';
import { declareTenantSettings } from '../keys/tenant-settings.ts';
import { declareTenants } from '../keys/tenants.ts';
import type { Action, Invocation } from '../run/invocation.ts';
import { declareExec } from '../serve/exec.ts';
import { declareMcp } from '../serve/mcp.ts';
import { declareOpen } from '../serve/open.ts';
import { declareTool } from '../serve/tool.ts';

/** Notes what the command line asks for; it runs once the whole line was understood. */
export type Choose = (action: Action) => void;

type Run<Typed extends readonly unknown[]> = (...taken: [...Typed, Invocation]) => Promise<number>;

/**
 * Declares every verb, in the order in which help lists them: a new verb is a line here. What a verb takes and what it
 * does lie in one file. The program that starts holds what is declared there alone (`infra/bundle-cli.ts`), and loads
 * the file of a verb when that verb runs.
 */
export function declareVerbs(program: Command, choose: Choose, more: { readonly toBegin: () => void }): void {
  const chosen =
    <Typed extends readonly unknown[]>(load: () => Promise<Run<Typed>>) =>
    (...typed: Typed): void =>
      choose(async (invocation) => (await load())(...typed, invocation));
  const below =
    (parent: Command) =>
    <Typed extends readonly unknown[]>(
      declare: (parent: Command, run: (...typed: Typed) => void) => void,
      load: () => Promise<Run<Typed>>,
    ): void =>
      declare(parent, chosen(load));
  const verb = below(program);

  program.commandsGroup('To begin:');
  verb(declareInit, async () => (await import('../keys/init.ts')).runInit);
  verb(declareDoctor, async () => (await import('../keys/doctor.ts')).runDoctor);
  more.toBegin();

  program.commandsGroup('Files:');
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

  program.commandsGroup('History:');
  verb(declareLog, async () => (await import('../history/log.ts')).runLog);
  verb(declareShow, async () => (await import('../history/show.ts')).runShow);
  verb(declareRestoreAt, async () => (await import('../history/undo-and-restore-at.ts')).runRestoreAt);
  verb(declareUndo, async () => (await import('../history/undo-and-restore-at.ts')).runUndo);
  verb(declareRedact, async () => (await import('../history/redact.ts')).runRedact);
  verb(declareTrace, async () => (await import('../history/trace.ts')).runTrace);
  verb(declareRestore, async () => (await import('../history/restore-version.ts')).runRestoreVersion);

  program.commandsGroup('Keys and store:');
  const keys = program.command('keys').description("look after the tenant's keys; docs/keys.md is the guide");
  const key = below(keys);
  key(declareStatus, async () => (await import('../keys/keys.ts')).runStatus);
  key(declareShowRoot, async () => (await import('../keys/keys.ts')).runShowRoot);
  key(declareRotate, async () => (await import('../keys/keys.ts')).runRotate);
  key(declareMigrate, async () => (await import('../keys/keys.ts')).runMigrate);
  key(declareRewrap, async () => (await import('../keys/keys.ts')).runRewrap);
  const tenant = program.command('tenant').description('look after the tenant as a whole');
  declareHistorySwitch(tenant, {
    show: chosen(async () => (await import('../history/switch.ts')).runHistoryState),
    turn: chosen(async () => (await import('../history/switch.ts')).runTurnHistory),
  });
  declareTenantSettings(tenant, {
    show: chosen(async () => (await import('../keys/tenant-settings.ts')).runShowSettings),
    check: chosen(async () => (await import('../keys/tenant-settings.ts')).runCheckSettings),
    set: chosen(async () => (await import('../keys/tenant-settings.ts')).runSetSetting),
    unset: chosen(async () => (await import('../keys/tenant-settings.ts')).runUnsetSetting),
  });
  below(tenant)(declareShred, async () => (await import('../keys/shred.ts')).runShred);
  const names = program.command('names').description('translate between paths and object keys');
  below(names)(declareEncodeName, async () => (await import('../keys/names.ts')).runEncodeName);
  below(names)(declareDecodeName, async () => (await import('../keys/names.ts')).runDecodeName);
  verb(declareTenants, async () => (await import('../keys/tenants.ts')).runTenants);
  verb(declareVerify, async () => (await import('../history/verify.ts')).runVerify);
  verb(declareCheckpoint, async () => (await import('../history/checkpoint.ts')).runCheckpoint);
  verb(declareBackup, async () => (await import('../keys/backup.ts')).runBackup);
  verb(declareExpire, async () => (await import('../keys/expire.ts')).runExpire);

  program.commandsGroup('Serve:');
  verb(declareOpen, async () => (await import('../serve/open.ts')).runOpen);
  verb(declareTool, async () => (await import('../serve/tool.ts')).runTool);
  verb(declareExec, async () => (await import('../serve/exec.ts')).runExec);
  verb(declareMcp, async () => (await import('../serve/mcp.ts')).runMcp);
}
