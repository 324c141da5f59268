import type { Command } from 'commander';
import type { ShredProgress } from '../../admin/keys/shred.ts';
import type { MemoryError } from '../../errors.ts';
import { LONGEST_TTL_MS } from '../../keys/keyring-cache.ts';
import { runOnAdmin } from '../run/admin.ts';
import { answerTo } from '../run/consent.ts';
import {
  type ChosenVerb,
  CONTINUES,
  type Invocation,
  NOTHING_CHANGED,
  wrongCall,
} from '../run/invocation.ts';
import { wholeNumber } from '../run/typed.ts';
import { noteWhereUnseen } from '../run/waits.ts';
import { shredLine, shredLines } from '../show/operate-lines.ts';

/** Declares `tenant shred`. */
export function declareShred(tenant: Command, run: ChosenVerb<typeof runShred>): void {
  tenant
    .command('shred')
    .description("destroy the tenant's keys, and with them all that is stored for it, for good")
    .option('--confirm <tenant>', "the tenant's name, instead of typing it")
    .option(
      '--ttl <seconds>',
      'the longest keyring TTL of any process, 0-900; default 900',
      wholeNumber({ most: LONGEST_TTL_MS / 1_000 }),
    )
    .action((options: ShredArguments) => run(options));
}

interface ShredArguments {
  readonly confirm?: string;
  /** Seconds. */
  readonly ttl?: number;
}

export function runShred({ confirm, ttl }: ShredArguments, invocation: Invocation): Promise<number> {
  const ttlMs = ttl === undefined ? undefined : ttl * 1_000;
  const note = noteWhereUnseen(invocation);
  let isAgreed = false;
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      await requireConsent(admin.tenant, { confirm, invocation });
      isAgreed = true;
      const onProgress = (progress: ShredProgress): void => {
        report.progress({ ...progress }, { line: shredLine(progress) });
        if (progress.phase === 'waiting') note(progress.until, 'waiting for the last cache to expire');
      };
      const shredding = await report.during('reaching the store', () =>
        admin.shred({ ttlMs, signal, onProgress }),
      );
      await report.done({ ...shredding }, shredLines(shredding));
      return 0;
    },
    { invocation, interrupted: () => (isAgreed ? CONTINUES : NOTHING_CHANGED) },
  );
}

/** Requires the tenant's name, as an option or typed, so that the operator cannot destroy another tenant by mistake. */
async function requireConsent(
  tenant: string,
  { confirm, invocation }: { readonly confirm: string | undefined; readonly invocation: Invocation },
): Promise<void> {
  const { terminal } = invocation;
  if (confirm === tenant) return;
  if (confirm !== undefined) throw unconfirmed('--confirm does not name the configured tenant');
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw unconfirmed('"tenant shred" needs --confirm with the tenant\'s name');
  }
  const question = `This destroys the keys of "${tenant}" for good: nothing that is stored for it can be read again.\nType the tenant's name to go on: `;
  if ((await answerTo(question, invocation)) !== tenant) throw unconfirmed("that is not the tenant's name");
}

function unconfirmed(why: string): MemoryError {
  return wrongCall(`${why}; nothing was changed`);
}
