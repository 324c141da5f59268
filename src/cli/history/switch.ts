import type { Command } from 'commander';
import { dateOf } from '../../time.ts';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, EXIT_FAILED, type Invocation, ofOneChange } from '../run/invocation.ts';
import { readOptions } from '../run/settings.ts';
import { historyLine, statusLines } from '../show/operate-lines.ts';
import { counted } from '../show/report.ts';

/** Declares `history` among the commands about the tenant as a whole. */
export function declareHistorySwitch(
  tenant: Command,
  {
    show,
    turn,
  }: {
    readonly show: ChosenVerb<typeof runHistoryState>;
    readonly turn: ChosenVerb<typeof runTurnHistory>;
  },
): void {
  const history = tenant
    .command('history')
    .description(
      'show whether the versions of files are kept, turn it on or off, or begin it anew; docs/history.md',
    )
    .allowExcessArguments()
    .action((_, command: Command) => {
      const [unknown] = command.args;
      if (unknown !== undefined) {
        command.error(`error: unknown command '${unknown}'`, { code: 'commander.unknownCommand' });
      }
      show();
    });
  for (const [to, description] of [
    ['on', 'keep the versions that are replaced or deleted from now on'],
    ['off', 'keep nothing from now on'],
    ['anew', 'after a restore on purpose: keep it on, and judge no file by what it says of the time before'],
  ] as const) {
    history
      .command(to)
      .description(description)
      .action(() => turn(to));
  }
}

/**
 * Tells whether the tenant keeps history, since when, and how long an expiry run that is configured like this one
 * leaves it.
 */
export function runHistoryState(invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const { history: { days } = {} } = readOptions(invocation);
      const status = await report.during('reaching the store', () => admin.keyStatus({ signal }));
      if (status.state !== 'open') {
        await report.done({ ...status }, statusLines(status));
        return status.state === 'absent' ? 0 : EXIT_FAILED;
      }
      const { history, historySince: since } = status;
      const kept =
        days === undefined
          ? 'for good: SEALED_MEMORY_HISTORY_DAYS is not set here'
          : `for ${counted(days, 'day')}, by SEALED_MEMORY_HISTORY_DAYS`;
      await report.done(
        {
          history,
          ...(since !== undefined && { since: dateOf(since) }),
          ...(days !== undefined && { days }),
        },
        [historyLine(status), ...(history === 'on' ? [`ok    expiry runs leave it ${kept}`] : [])],
      );
      return 0;
    },
    { invocation },
  );
}

export function runTurnHistory(to: 'on' | 'off' | 'anew', invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const turn = async () => {
        const isNew = to === 'on' && (await admin.history.state({ signal })) === 'absent';
        return { ...(await admin.switchHistory(to, { signal })), ...(isNew && { isNew }) };
      };
      const { isNew, ...turned } = await report.during('reaching the store', turn);
      const { changed, epoch } = turned;
      await report.done({ ...turned, ...(isNew && { created: true }) }, [
        ...(isNew ? [`note  nothing was written for the tenant ${admin.tenant} before: it begins now`] : []),
        to === 'anew'
          ? `ok    history begins anew, keyring epoch ${epoch}: what it says of the time before accuses no file, and its texts stay; now run "sealed-memory checkpoint", and throw older lines away`
          : changed
            ? `ok    history is ${to}, keyring epoch ${epoch}; a process that runs follows when it loads the keyring next, within 15 minutes`
            : `ok    history was ${to} already`,
      ]);
      return 0;
    },
    { invocation, interrupted: ofOneChange },
  );
}
