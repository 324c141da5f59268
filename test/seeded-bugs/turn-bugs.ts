import { inSuite, type SeededBug } from './seeded-bug.ts';

/** Bugs of turns and of the conversations that they go on. */
export const TURN_BUGS: readonly SeededBug[] = [
  {
    name: 'a turn taken over while its lease runs',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/receipts.test.ts',
      'let exactly one of many deliveries at once run the turn',
    ),
    planted: {
      file: 'src/worker/leases/receipts.ts',
      replaces: "return freeInMs === undefined ? undefined : { state: 'running', freeInMs };",
      by: 'return undefined;',
    },
  },
  {
    name: 'no look for the answer behind a takeover',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/receipts.test.ts',
      'find the answer of a process that died before it closed the receipt, and run nothing again',
    ),
    planted: {
      file: 'src/worker/leases/receipts.ts',
      replaces: 'const answer = found && (await readAnswer(work, id));',
      by: 'const answer = undefined as Uint8Array | undefined;',
    },
  },
  {
    name: 'a receipt closed before its answer is stored',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/conversation-kills.test.ts',
      'at any request leaves a %s conversation and its turn in one state',
    ),
    planted: {
      file: 'src/worker/leases/turn-lease.ts',
      replaces: `      const counting = await storeAnswer(now, id, answer);
      return (await replaceOwn(now, own, { state: 'done', message })) ? counting : undefined;`,
      by: `      const isOurs = await replaceOwn(now, own, { state: 'done', message });
      const counting = await storeAnswer(now, id, answer);
      return isOurs ? counting : undefined;`,
    },
  },
  {
    name: 'a takeover that begins the turn anew',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/saved-progress.test.ts',
      'costs one request, and is there after a release and after a lease that ran out',
    ),
    planted: {
      file: 'src/worker/leases/receipts.ts',
      replaces: "const saved = found !== undefined && 'progress' in found.content && found.content.progress;",
      by: 'const saved = false as false | undefined;',
    },
  },
  {
    name: 'a command made again unjudged',
    breaks: 'protocols: Edits of a reply that is answered again',
    seenBy: inSuite(
      'test/units/tree/was-made.test.ts',
      'is answered as it was where another writer has built on its version',
    ),
    planted: {
      file: 'src/tree/was-made.ts',
      replaces: 'if (!once.isMarked) return undefined;',
      by: 'if (once.again !== undefined) return false;',
    },
  },
  {
    name: 'a reply kept behind its tools',
    breaks: 'protocols: Edits of a reply that is answered again',
    seenBy: inSuite(
      'test/units/agent/run-turn-steps.test.ts',
      'tells a reply that writes before its tools run, and no other',
    ),
    planted: {
      file: 'src/agent/converse.ts',
      replaces: "if ((await answerTo(step, request)) === 'stop') return 'stopped';",
      by: "await runner.generateToolResponse();\n      if ((await answerTo(step, request)) === 'stop') return 'stopped';",
    },
  },
  {
    name: 'a version that came back taken for the one before the call',
    breaks: 'protocols: Edits of a reply that is answered again',
    seenBy: inSuite(
      'test/units/tree/was-made.test.ts',
      'is not made on a version that may have come back to its path',
    ),
    planted: {
      file: 'src/tree/was-made.ts',
      replaces: 'if (!equalBytes(found.origin, NO_ID)) return false;',
      by: '',
    },
  },
  {
    name: 'an edit of a process that stood still made twice',
    breaks: 'protocols: Edits of a reply that is answered again',
    seenBy: inSuite(
      'test/units/tree/was-made.test.ts',
      'fails in a process that stood still, once another one has made it',
    ),
    planted: {
      file: 'src/tree/edit-round.ts',
      replaces: 'if (once?.bears(version.id) || once?.bears(version.previous)) {',
      by: 'if (once?.bears(version.previous)) {',
    },
  },
  {
    name: 'an answer that is not the first counted',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/receipts.test.ts',
      'keep to the answer of the late one where that was stored first',
    ),
    planted: {
      file: 'src/worker/leases/turn-lease.ts',
      replaces: 'return (await readAnswer(work, id)) ?? answer;',
      by: 'return answer;',
    },
  },
  {
    name: 'a receipt that a migration has bound taken for another one',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/receipts.test.ts',
      'are finished by their owner though a migration has written them again meanwhile',
    ),
    planted: {
      file: 'src/worker/leases/leased-record.ts',
      replaces: 'if (record === undefined || owner !== leased.owner) return undefined;',
      by: 'if (record !== undefined) return undefined;',
    },
  },
  {
    name: 'the owner of before kept at a takeover',
    breaks: 'protocols: Receipts of turns',
    seenBy: inSuite(
      'test/units/worker/leases/receipts.test.ts',
      'keep to the answer of the late one where that was stored first',
    ),
    planted: {
      file: 'src/worker/leases/receipts.ts',
      replaces: 'return { content: { ...running, attempts: used + 1, ...(saved && { progress: saved }) } };',
      by: `const owner = found && 'owner' in found.content ? found.content.owner : running.owner;
        return { content: { ...running, attempts: used + 1, owner, ...(saved && { progress: saved }) } };`,
    },
  },
  {
    name: 'an answer stored before its conversation',
    breaks: 'protocols: Stored conversations',
    seenBy: inSuite(
      'test/units/worker/leases/conversation-kills.test.ts',
      'at any request leaves a %s conversation and its turn in one state',
    ),
    planted: {
      file: 'src/worker/turn/deliver-turn.ts',
      replaces:
        "const kept = answer.outcome === 'refused' ? 'refused' : await conversation.keep(from, answer);",
      by: `await lease.finish(encodeAnswer({ ...answer, messages: answer.messages.slice(from) }));
  const kept = answer.outcome === 'refused' ? 'refused' : await conversation.keep(from, answer);`,
    },
  },
  {
    name: 'the answer of the turn before forgotten',
    breaks: 'protocols: Stored conversations',
    seenBy: inSuite(
      'test/units/worker/leases/conversation-kills.test.ts',
      'at any request keeps its turn whole where another one comes before its next delivery',
    ),
    planted: {
      file: 'src/worker/leases/conversations.ts',
      replaces: 'if (body !== undefined) await completeLast(work, body.conversation);',
      by: '',
    },
  },
  {
    name: 'a body removed before the head names the next one',
    breaks: 'protocols: Stored conversations',
    seenBy: inSuite(
      'test/units/worker/leases/conversation-kills.test.ts',
      'at any request leaves a %s conversation and its turn in one state',
    ),
    planted: {
      file: 'src/worker/leases/conversation-lease.ts',
      replaces: 'const etag = await replaceLeased(work, own, { next: { ...behind, content }, check });',
      by: `if (record !== undefined) await removeBody(work, record);
      const etag = await replaceLeased(work, own, { next: { ...behind, content }, check });`,
    },
  },
  {
    name: 'a body named though expiry may have deleted it',
    breaks: 'protocols: Stored conversations',
    seenBy: inSuite(
      'test/units/worker/leases/conversations.test.ts',
      'is whole behind a process that stood still for a day between its body and its head',
    ),
    planted: {
      file: 'src/worker/leases/conversation-lease.ts',
      replaces: 'const etag = await replaceLeased(work, own, { next: { ...behind, content }, check });',
      by: 'const etag = await replaceLeased(work, own, { next: { ...behind, content } });',
    },
  },
  {
    name: 'a turn added to its conversation twice',
    breaks: 'protocols: Stored conversations',
    seenBy: inSuite(
      'test/units/worker/leases/conversation-kills.test.ts',
      'at any request leaves a %s conversation and its turn in one state',
    ),
    planted: {
      file: 'src/worker/leases/conversations.ts',
      replaces: 'const body = stored.turn === turn ? await readBody(work, stored) : undefined;',
      by: 'const body = undefined as StoredBody | undefined;',
    },
  },
  {
    name: 'the hold of another turn taken over at once',
    breaks: 'protocols: Stored conversations',
    seenBy: inSuite(
      'test/units/worker/leases/conversations.test.ts',
      'lets one of two turns wait, which asks nothing and then knows the other',
    ),
    planted: {
      file: 'src/worker/leases/conversations.ts',
      replaces: "if (isHeld && former?.turn !== turn) return { ended: { state: 'busy' } };",
      by: '',
    },
  },
];
