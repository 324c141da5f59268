/** A folder of `src`: what it has, and what of it other folders may import. */
export interface Folder {
  /** Its concepts, for docs/architecture.md. */
  readonly has: string;
  /**
   * The files that other folders import, its nouns, by their names without an ending. The key names who may: folders
   * with all below them, `index` for the entry points at the top of `src`, `*` for everybody.
   */
  readonly offers?: Readonly<Record<string, readonly string[]>>;
}

/** A folder at the top of `src`. An import goes to a room on a lower floor, or stays within the room. */
export interface Room extends Folder {
  readonly floor: number;
  /** The things that it knows nothing of, for docs/architecture.md. */
  readonly never: string;
}

/** The most nouns that a folder offers: about a dozen. */
export const MOST_NOUNS = 14;

/** The exported names that one room imports of another: its walls, as thick as they are. Fewer is better. */
export const NAMES_ACROSS = 545;

/** Every folder of `src`, the rooms from the ground up. docs/architecture.md shows it: `npm run write rooms`. */
export const FOLDERS = {
  language: {
    floor: 1,
    has: 'the six commands: how they are read, what they do to a text, every sentence the model reads',
    never: 'stores, keys, clocks, Node',
    offers: {
      '*': ['command', 'image', 'path', 'sentences', 'text'],
      'cli page': ['line-diff'],
      'cli page policy': ['invisible'],
      'cli page tool': ['listing'],
      'hosts mcp': ['schema'],
      'page tool': ['view'],
      tool: ['apply-edit', 'success-sentences'],
    },
  },
  format: {
    floor: 2,
    has: 'the bytes of an object and of a keyring, the names in object keys; a file for each chapter of format.md',
    never: 'where the bytes lie, who asks',
    offers: {
      '*': ['encoding', 'names', 'object', 'object-keys', 'sizes', 'sodium', 'wrap'],
      admin: ['checkpoint-root'],
      'admin keys open': ['keyring-bytes'],
      'admin page tree': ['header'],
      'admin store': ['tombstone'],
      keys: ['root-wrap'],
      tree: ['version'],
    },
  },
  store: {
    floor: 3,
    has: 'the port `src/store/port.ts`, what makes a server safe to write to, the three kinds of stores, opened at a location',
    never: 'what the bytes mean; tombstones are its own',
    offers: {
      '*': ['failures', 'open-store', 'port'],
      'admin history': ['remove-versions'],
      cli: ['folder'],
      'cli keys tree': ['settle'],
      'keys open': ['os-random'],
    },
  },
  'store/s3': {
    has: 'requests and answers of S3, attempts, connections',
    offers: {
      '*': ['callers-credentials'],
      store: ['s3-store'],
      'store store/s3/lean store/s3/sdk': ['connection'],
      'store/s3/lean store/s3/sdk': ['attempts', 'body', 'judged-store', 'wire', 'writing'],
      'store/s3/sdk': ['errors'],
    },
  },
  'store/s3/lean': {
    has: 'requests made of the parts of the AWS SDK that they need',
    offers: {
      'store/s3': ['endpoint', 'lean-store'],
    },
  },
  'store/s3/sdk': {
    has: 'the client of the AWS SDK',
    offers: {
      'store/s3': ['sdk-store'],
    },
  },
  'store/sqlite': {
    has: 'the file, its transactions, its reserve for a full disk, its backup',
    offers: {
      cli: ['backup', 'database-file'],
      store: ['sqlite-store'],
    },
  },
  keys: {
    floor: 4,
    has: 'the port `src/keys/root-key.ts`, the keyring of a tenant, its cache, its editor, its rollback guard',
    never: 'files and directories',
    offers: {
      '*': ['keyring-cache', 'root-key'],
      admin: ['keyring-editor'],
      'admin history': ['keyring'],
      'admin open': ['rollback-guard'],
      cli: ['try-root-key'],
      'cli keys/vault': ['private-file'],
      'cli index open': ['root-keys'],
      'cli open': ['list-tenants'],
      'keys/kms keys/vault': ['key-gate'],
      open: ['held-by-tenant'],
    },
  },
  'keys/kms': {
    has: 'root keys in AWS KMS: the client, its errors',
    offers: {
      'cli keys': ['kms-key-arn'],
      keys: ['kms-root-key'],
    },
  },
  'keys/vault': {
    has: 'root keys in Transit of Vault and OpenBao: the URL, the token, the requests, their errors',
    offers: {
      keys: ['vault-environment', 'vault-key-url', 'vault-root-key', 'vault-token'],
    },
  },
  tree: {
    floor: 5,
    has: "one tenant's files at paths: read, write, edit, list, remove",
    never: "the model's sentences, options, the environment",
    offers: {
      '*': [
        'concurrency',
        'confirmed-put',
        'list-directory',
        'list-objects',
        'read-file',
        'sightings',
        'tenant',
        'touches',
        'tree',
      ],
      'admin tree/rename': ['write-again'],
      'history tree/rename': ['draw-id'],
      open: ['walk-directory'],
      'open tree/rename tree/staying': ['version-cache'],
      'tree/records': ['confirmed-change'],
    },
  },
  'tree/admission': {
    has: 'what may be written: the size, the policy, the quota',
    offers: {
      '*': ['policy'],
      'history tree': ['admission'],
      open: ['quota'],
    },
  },
  'tree/records': {
    has: 'sealed records beside the files: written, read, listed by class',
    offers: {
      '*': ['record-values', 'sealed-record'],
      'admin history': ['write-before-delete'],
      'admin history sessions': ['list-ids'],
      'admin history worker': ['update-record'],
    },
  },
  'tree/rename': {
    has: 'the rename of a file and of a directory, the register, the lease',
    offers: {
      'admin index': ['register'],
      'admin history': ['keep-newest'],
      'admin tree': ['finish-renames'],
      tree: ['rename', 'rename-file'],
    },
  },
  'tree/staying': {
    has: 'files that a process may still take back: clashes, the wait until a file stays, the taking back',
    offers: {
      'history tree tree/rename': ['staying'],
      'tree tree/rename': ['clashes', 'take-back'],
    },
  },
  turns: {
    floor: 6,
    has: 'what a worker leaves of a turn: receipts, answers, conversations, traces; how they are written and read',
    never: 'queues, Claude',
    offers: {
      'admin history worker': ['turn-records'],
      'admin worker': ['conversation-head', 'conversation-id'],
      'cli history worker': ['turn-trace'],
    },
  },
  sessions: {
    floor: 6,
    has: 'transcripts of agents, which only grow, as sealed records',
    never: 'who writes them, what a line says',
    offers: {
      admin: ['page'],
      'admin index': ['session-key'],
      'hosts index': ['fold'],
      'index open tool': ['sessions'],
    },
  },
  history: {
    floor: 7,
    has: 'what files were: saves versions before they are replaced, tells of them, takes back, redacts, traces',
    never: 'requests to the store',
    offers: {
      '*': ['history'],
    },
  },
  'history/change': {
    has: 'plans of `restoreAt` and `undo`, judged and carried out; a text written back; redaction',
    offers: {
      'cli history': ['moment'],
      'cli history index': ['plan'],
      history: ['carry-out', 'plan-restore-at', 'plan-undo', 'write-back'],
      'history history/save': ['redact'],
    },
  },
  'history/past': {
    has: 'the one model: versions, bindings, leaves, lives; the files of a moment; entries of the log',
    offers: {
      '*': ['entries', 'past'],
      admin: ['collect', 'damaged-records', 'named-writers'],
      'history history/change': ['read-version', 'version-name'],
      'history history/change history/trace': ['model', 'read'],
      'history/change': ['at', 'lives', 'records'],
      'history/trace': ['order'],
    },
  },
  'history/save': {
    has: 'records of versions, of what became of files, and of actors: what every writer calls',
    offers: {
      '*': ['actors'],
      'admin history/change history/past': ['history-record'],
      open: ['version-saver'],
    },
  },
  'history/trace': {
    has: 'what came of a version, and what cannot be told of that',
    offers: {
      'cli history index': ['trace'],
      'cli index': ['untold'],
      history: ['known'],
    },
  },
  tool: {
    floor: 8,
    has: 'the order of commands, the memory that a host calls, `memory.files`',
    never: 'stores and keys',
    offers: {
      '*': ['commands', 'files', 'memory-tool'],
      'cli index': ['redactions'],
      'index open worker': ['watch'],
      'index page': ['call-counts'],
      open: ['command-order'],
      worker: ['telemetry'],
    },
  },
  policy: {
    floor: 8,
    has: 'secrets and personal data in a text, and the words that ask for them',
    never: 'what is done about them',
    offers: {
      'index open': ['policy-words'],
    },
  },
  admin: {
    floor: 8,
    has: 'what the operator asks: rotate, migrate, retire, shred, verify, export, expire',
    never: 'the terminal',
    offers: {
      '*': ['findings'],
      'admin/export admin/keys admin/verify': ['scan'],
      'open page': ['operator-verbs'],
    },
  },
  'admin/checkpoints': {
    has: 'lines, parts and heads: written, and read against a line',
    offers: {
      'admin/expiry admin/verify': ['checkpoint-record', 'read-checkpoint'],
      'index open': ['checkpoint'],
    },
  },
  'admin/expiry': {
    has: 'unused files; a row for each class of records that expires',
    offers: {
      '*': ['expire'],
      'admin/verify': ['expire-files', 'history-note'],
      open: ['access-records'],
    },
  },
  'admin/export': {
    has: 'a backup written out as plaintext',
    offers: {
      '*': ['export-tree'],
    },
  },
  'admin/keys': {
    has: 'rotation, migration, retirement, destruction; whether history is kept',
    offers: {
      '*': ['key-status', 'migrate', 'root-key-status', 'rotate', 'shred'],
      'admin index open': ['turn-history'],
      'admin/expiry admin/verify': ['migrated-versions'],
    },
  },
  'admin/verify': {
    has: 'findings of a verification, since a checkpoint as well',
    offers: {
      '*': ['verify'],
      'admin/checkpoints': ['kept-from'],
      'cli index': ['verify-since'],
    },
  },
  open: {
    floor: 9,
    has: 'options and environment; it wires all rooms below for one tenant or for a pool of tenants',
    never: 'what a command does',
    offers: {
      '*': ['open-memory'],
      cli: [
        'open-views',
        'shown-settings',
        'tenant-file',
        'tenant-table',
        'tenant-table-changes',
        'tenant-views',
      ],
      'cli index': ['open-admin', 'tenant-admin'],
      'index worker': ['pool'],
      page: ['wire-tenant'],
    },
  },
  'open/options': {
    has: 'options and variables: the one table with defaults, what they mean, advice on a wrong name',
    offers: {
      '*': ['options'],
      cli: ['origins'],
      'cli index worker': ['environment'],
      'cli open': ['known-names', 'option-table', 'remedy', 'settings'],
      open: ['known-options'],
    },
  },
  agent: {
    floor: 10,
    has: 'one turn of Claude with a memory',
    never: 'queues',
    offers: {
      worker: ['conversation-digest', 'run-turn', 'turn-outcome', 'turn-progress', 'turn-request'],
    },
  },
  mcp: {
    floor: 10,
    has: 'the commands as tools and the files as resources of an MCP server',
    never: 'how it is reached',
    offers: {
      cli: ['server'],
      hosts: ['content'],
    },
  },
  page: {
    floor: 10,
    has: "one tenant's memory for a page in a browser, and the questions of the page",
    never: 'how the page is asked for',
    offers: {
      '*': ['protocol'],
      'page/client/data': ['shapes'],
    },
  },
  'page/client': {
    has: 'the page in the browser',
  },
  'page/client/data': {
    has: 'answers asked for and kept; drafts; the state of the view',
    offers: {
      'page/client': ['address', 'use-watch'],
      'page/client page/client/panes': ['ask', 'drafts', 'spent', 'use-unseen'],
      'page/client page/client/panes page/client/parts': ['post', 'tree-rows', 'view-state'],
      'page/client/panes': ['line-ends', 'use-answer', 'use-writers'],
      'page/client/panes page/client/parts': ['diff-lines', 'use-now'],
    },
  },
  'page/client/panes': {
    has: 'what the page shows: tree, file, versions, store, health',
    offers: {
      'page/client': [
        'store-pane',
        'file-pane',
        'health',
        'history-view',
        'palette',
        'surround',
        'tree-pane',
      ],
    },
  },
  'page/client/parts': {
    has: 'what panes are made of',
    offers: {
      'page/client': ['shortcuts', 'use-shortcuts', 'verdict'],
      'page/client page/client/panes': ['pane-switch'],
      'page/client/panes': [
        'bytes',
        'dialog',
        'markdown',
        'near-part',
        'seen-text',
        'text-diff',
        'text-lines',
        'tree-row',
        'virtual-list',
        'words',
      ],
    },
  },
  'page/server': {
    has: 'questions of the page and their answers, the guard, the bounds of the server',
    offers: {
      cli: ['answer-questions', 'bounded-server', 'export-view', 'loopback', 'serve-page', 'tenant-view'],
    },
  },
  worker: {
    floor: 11,
    has: 'turns from a queue, each answered once',
    never: 'how a tree is stored',
    offers: {
      '*': ['json-log'],
      'worker/expiry': ['tenant-credentials'],
    },
  },
  'worker/expiry': {
    has: 'expiry runs over all tenants',
    offers: {
      worker: ['expire-tenant', 'expiry-queue'],
    },
  },
  'worker/leases': {
    has: 'the right to a turn and to a conversation, and what its owner stores under it',
    offers: {
      'worker worker/turn': ['conversations', 'receipts'],
      'worker/turn': ['conversation', 'conversation-lease', 'turn-lease'],
    },
  },
  'worker/queue': {
    has: 'messages of SQS and calls of the function, and what they are answered',
    offers: {
      worker: ['sqs-handler'],
      'worker worker/expiry': ['direct-handler', 'replies'],
      'worker/expiry': ['queue-records'],
    },
  },
  'worker/turn': {
    has: 'one turn: its message, its basis, the reply asked for, its progress, its delivery',
    offers: {
      worker: ['claude-gate', 'deliver-turn', 'sealed-prompt', 'token-budget', 'turn-span'],
      'worker worker/leases worker/queue': ['turn-answer'],
      'worker worker/queue': ['delivery', 'turn-message'],
    },
  },
  cdk: {
    floor: 11,
    has: 'the cloud around a worker, as a construct of the AWS CDK; `infra/app.ts` deploys it',
    never: 'what a worker does with a turn',
  },
  hosts: {
    floor: 11,
    has: 'the memory in the words of other frameworks, a file each ([hosts.md](hosts.md))',
    never: 'what a command does',
  },
  cli: {
    floor: 11,
    has: 'the command line',
    never: 'anything that a library user could not do',
  },
  'cli/files': {
    has: 'the verbs of files',
    offers: {
      'cli/program': [
        'cat',
        'cp',
        'diff',
        'edit',
        'export',
        'get',
        'grep',
        'import',
        'list',
        'mv',
        'put',
        'rm',
      ],
      'cli/serve': ['read-export'],
    },
  },
  'cli/history': {
    has: 'the verbs of the past',
    offers: {
      'cli/program': [
        'checkpoint',
        'log',
        'redact',
        'restore-version',
        'show',
        'switch',
        'trace',
        'undo-and-restore-at',
        'verify',
      ],
    },
  },
  'cli/keys': {
    has: 'the verbs of keys and stores',
    offers: {
      'cli/program': [
        'backup',
        'doctor',
        'expire',
        'export-backup',
        'init',
        'keys',
        'names',
        'shred',
        'tenant-settings',
        'tenants',
      ],
    },
  },
  'cli/program': {
    has: 'commands as they are typed, help, completion',
    offers: {
      cli: ['program'],
    },
  },
  'cli/run': {
    has: 'settings, consent, what a person typed, how an answer ends',
    offers: {
      '*': ['invocation', 'settings', 'typed'],
      'cli/files': ['ahead', 'own-chunks'],
      'cli/files cli/history': ['memory', 'refusals'],
      'cli/files cli/history cli/keys': ['tenant-state'],
      'cli/files cli/keys': ['own-file'],
      'cli/files cli/serve': ['source'],
      'cli/history cli/keys': ['admin', 'consent'],
      'cli/keys': ['waits'],
    },
  },
  'cli/serve': {
    has: 'the verbs of servers',
    offers: {
      'cli/program': ['exec', 'mcp', 'open'],
      'cli/program cli/run': ['tool'],
    },
  },
  'cli/show': {
    has: 'lines, progress, colours, findings in words',
    offers: {
      '*': ['report', 'terminal'],
      'cli/files cli/history': ['branches', 'patch', 'redaction-lines'],
      'cli/files cli/history cli/program': ['shown'],
      'cli/history': ['holding-lines', 'since-lines', 'wrap'],
      'cli/history cli/keys': ['operate-lines'],
      'cli/history cli/keys cli/serve': ['finding-lines'],
    },
  },
  testing: {
    floor: 11,
    has: 'what an application tests its agent, and a store or a root key of its own, with',
    never: 'any other room; none imports it',
  },
  'testing/claude': {
    has: 'a Claude that follows a script, as strict as the API',
    offers: {
      testing: [
        'api-refusal',
        'context-edits',
        'message-blocks',
        'messages-request',
        'reply',
        'scripted-claude',
        'summary',
        'thoughts',
      ],
    },
  },
  'testing/contracts': {
    has: 'what a store and a root key promise, as cases',
    offers: {
      testing: ['contract', 'object-store', 'root-key'],
    },
  },
} as const satisfies Readonly<Record<string, Room | Folder>>;
