import { type CipherGCMTypes, createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request for the use of a key, as it was received. */
interface TransitRequest {
  readonly verb: string;
  /** The path of the engine with its namespaces, and the name of the key. */
  readonly key: string;
  readonly namespace: string | undefined;
  readonly token: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A Vault of this process as its API pages tell: Transit engines, tokens, policies and namespaces. Its sentences are
 * those of OpenBao 2.7.2. It is stricter than a server: it refuses fields that it does not know, every content type but
 * JSON, and base64 with a line break.
 */
export interface FakeTransit extends AsyncDisposable {
  readonly endpoint: string;
  readonly rootToken: string;
  /** The requests that used a key. */
  readonly requests: readonly TransitRequest[];
  seal(isSealed: boolean): void;
  /**
   * Leaves requests for this key, `mount/name`, without an answer from now on; false: answers them again, and breaks
   * those that wait.
   */
  hang(key: string, hangs: boolean): void;
  /** The next `times` uses of keys are answered like this, get no answer, or break off. */
  answerNext(times: number, answer: RawAnswer | AnswerChange | 'silence' | 'break'): void;
}

type Json = Readonly<Record<string, unknown>>;
type AnswerChange = (right: RawAnswer) => RawAnswer;

interface Key {
  readonly type: string;
  readonly derived: boolean;
  readonly versions: Buffer[];
  minDecryption: number;
  deletable: boolean;
}

interface Rule {
  readonly path: string;
  readonly capabilities: readonly string[];
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
const CIPHERS: Readonly<Record<string, { readonly cipher: string; readonly bytes: number }>> = {
  'aes128-gcm96': { cipher: 'aes-128-gcm', bytes: 16 },
  'aes256-gcm96': { cipher: 'aes-256-gcm', bytes: 32 },
  'chacha20-poly1305': { cipher: 'chacha20-poly1305', bytes: 32 },
};
const OTHER_TYPES = ['rsa-2048', 'ecdsa-p256', 'ed25519'];
const NAME = /^\w(?:[\w.-]*\w)?$/;

/** Wraps the sentence of a handler that failed, or of a policy that denies, as a server does. */
const wrapped = (sentence: string): string => `1 error occurred:\n\t* ${sentence}\n\n`;

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, ...errors: readonly string[]) {
    super(JSON.stringify({ errors }));
    this.status = status;
  }
}

export async function startFakeTransit(): Promise<FakeTransit> {
  const rootToken = `hvs.${randomUUID()}`;
  const tokens = new Map<string, readonly string[]>([[rootToken, ['root']]]);
  const policies = new Map<string, readonly Rule[]>();
  const namespaces = new Set<string>();
  const mounts = new Set<string>();
  const keys = new Map<string, Key>();
  const hung = new Map<string, Set<ServerResponse>>();
  const requests: TransitRequest[] = [];
  const scripted: (RawAnswer | AnswerChange | 'silence' | 'break')[] = [];
  let isSealed = false;

  const allow = (token: string | undefined, path: string, capability: string): void => {
    const names = tokens.get(token ?? '');
    const rules = names?.flatMap((name) => policies.get(name) ?? []) ?? [];
    const exact = rules.filter((rule) => rule.path === path);
    const globs = rules.filter(({ path: glob }) => glob.endsWith('*') && path.startsWith(glob.slice(0, -1)));
    const counting = exact.length > 0 ? exact : globs;
    const isDenied = counting.some(({ capabilities }) => capabilities.includes('deny'));
    const isAllowed = counting.some(({ capabilities }) => capabilities.includes(capability));
    if (names === undefined) throw new Refusal(403, 'permission denied');
    if (!names.includes('root') && (isDenied || !isAllowed))
      throw new Refusal(403, wrapped('permission denied'));
  };

  const keyAt = (path: string): Key => {
    const key = keys.get(path);
    if (key === undefined) throw new Refusal(400, 'encryption key not found');
    return key;
  };

  const additionalOf = ({ type, derived }: Key, { associated_data, context }: Json): Buffer => {
    if (derived && context === undefined) {
      throw new Refusal(
        400,
        "missing 'context' for key derivation; the key was created using a derived key, which means additional, per-request information must be included in order to perform operations with the key",
      );
    }
    if (associated_data === undefined) return Buffer.alloc(0);
    if (CIPHERS[type] === undefined) {
      throw new Refusal(400, `'[0].associated_data' provided for non-AEAD cipher suite ${type}`);
    }
    const failure = 'unable to get associated_data/additional_data from factory[0]: illegal base64 data';
    return bytesOf(associated_data, wrapped(failure), 500);
  };

  const encrypt = (path: string, fields: Json): Json => {
    if (fields['plaintext'] === undefined) throw new Refusal(400, 'missing plaintext to encrypt');
    const plaintext = bytesOf(fields['plaintext'], 'illegal base64 data at input byte 0');
    // Whoever may create a key makes it by its first use.
    if (!keys.has(path)) createKey(path, {});
    const key = keyAt(path);
    const additional = additionalOf(key, fields);
    const { cipher } = cipherOf(key);
    const iv = randomBytes(IV_BYTES);
    const material = key.versions.at(-1) ?? Buffer.alloc(0);
    const sealing = createCipheriv(cipher, material, iv, { authTagLength: TAG_BYTES }).setAAD(additional);
    const box = Buffer.concat([iv, sealing.update(plaintext), sealing.final(), sealing.getAuthTag()]);
    const version = key.versions.length;
    return { ciphertext: `vault:v${version}:${box.toString('base64')}`, key_version: version };
  };

  const decrypt = (path: string, fields: Json): Json => {
    const { ciphertext } = fields;
    if (typeof ciphertext !== 'string' || ciphertext === '') {
      throw new Refusal(400, 'missing ciphertext to decrypt');
    }
    const key = keyAt(path);
    const additional = additionalOf(key, fields);
    const { cipher } = cipherOf(key);
    const [, text = ''] = /^vault:v(.*)$/s.exec(ciphertext) ?? refuse('invalid ciphertext: no prefix');
    const [number = '', ...boxes] = text.split(':');
    if (boxes.length === 0) refuse('invalid ciphertext: wrong number of fields');
    if (!/^-?[0-9]+$/.test(number)) refuse('invalid ciphertext: version number could not be decoded');
    // Version 0 is the first one, as the oldest servers wrote it.
    const version = Number(number) === 0 ? 1 : Number(number);
    if (version > key.versions.length) refuse('invalid ciphertext: version is too new');
    if (version < key.minDecryption) {
      refuse('ciphertext or signature version is disallowed by policy (too old)');
    }
    const bytes = bytesOf(boxes.join(':'), 'invalid ciphertext: could not decode base64');
    if (bytes.length < IV_BYTES) refuse('invalid ciphertext length');
    try {
      const material = key.versions[version - 1] ?? Buffer.alloc(0);
      const opening = createDecipheriv(cipher, material, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      opening.setAAD(additional).setAuthTag(bytes.subarray(-TAG_BYTES));
      const plaintext = [opening.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), opening.final()];
      return { plaintext: Buffer.concat(plaintext).toString('base64') };
    } catch {
      throw new Refusal(400, 'cipher: message authentication failed');
    }
  };

  /** Carries out a request of an operator, by the path of the API. */
  const administer = (method: string, route: string, fields: Json): Json | undefined => {
    const [, within = '', mount] = /^(?:(.+)\/)?sys\/mounts\/(.+)$/.exec(route) ?? [];
    if (method === 'POST' && mount !== undefined && fields['type'] === 'transit') {
      if (within !== '' && !namespaces.has(within)) throw new Refusal(404, 'namespace not found');
      const path = within === '' ? mount : `${within}/${mount}`;
      if (mounts.has(path)) throw new Refusal(400, `path is already in use at ${mount}/`);
      mounts.add(path);
      return undefined;
    }
    const [, namespace] = /^sys\/namespaces\/(.+)$/.exec(route) ?? [];
    if (method === 'POST' && namespace !== undefined) {
      namespaces.add(namespace);
      return undefined;
    }
    const [, policy] = /^sys\/policies\/acl\/([\w-]+)$/.exec(route) ?? [];
    if (method === 'POST' && policy !== undefined) {
      policies.set(policy, rulesOf(String(fields['policy'])));
      return undefined;
    }
    if (method === 'POST' && route === 'auth/token/create') {
      const token = `hvs.${randomUUID()}`;
      tokens.set(token, fields['policies'] as readonly string[]);
      return { auth: { client_token: token } };
    }
    if (method === 'POST' && route === 'auth/token/revoke') {
      tokens.delete(String(fields['token']));
      return undefined;
    }
    return keyVerb(method, route, fields);
  };

  const keyVerb = (method: string, route: string, fields: Json): undefined => {
    const [, mount = '', name = '', verb] = /^(.+)\/keys\/([^/]+)(?:\/(rotate|config))?$/.exec(route) ?? [];
    const path = `${mount}/${name}`;
    if (!mounts.has(mount)) throw new Refusal(404, `no handler for route "${route}". route entry not found.`);
    const key = keys.get(path);
    if (!NAME.test(name)) throw new Refusal(404, wrapped('unsupported path'));
    if (method === 'POST' && verb === undefined) {
      if (key === undefined) createKey(path, fields);
      return undefined;
    }
    if (key === undefined) refuse(`error deleting policy ${name}: could not delete key; not found`);
    if (method === 'POST' && verb === 'rotate') {
      key.versions.push(randomBytes(key.versions[0]?.length ?? 32));
    } else if (method === 'POST' && verb === 'config') {
      const {
        min_decryption_version: least = key.minDecryption,
        deletion_allowed: deletable = key.deletable,
      } = fields;
      if (Number(least) > key.versions.length) {
        refuse(`cannot set min decryption version of ${least}, latest key version is ${key.versions.length}`);
      }
      key.minDecryption = Math.max(1, Number(least));
      key.deletable = deletable === true;
    } else if (method === 'DELETE' && verb === undefined) {
      if (!key.deletable) refuse(`error deleting policy ${name}: deletion is not allowed for this key`);
      keys.delete(path);
    } else throw new Refusal(405, wrapped('unsupported operation'));
    return undefined;
  };

  const createKey = (path: string, { type = 'aes256-gcm96', derived = false }: Json): void => {
    const known = [...Object.keys(CIPHERS), ...OTHER_TYPES];
    if (!known.includes(String(type))) refuse(`unknown key type ${String(type)}`);
    keys.set(path, {
      type: String(type),
      derived: derived === true,
      versions: [randomBytes(CIPHERS[String(type)]?.bytes ?? 32)],
      minDecryption: 1,
      deletable: false,
    });
  };

  // A connection that ends while a busy machine sends into it would look like a Vault that is gone.
  const server = createServer({ keepAliveTimeout: 600_000 }, (incoming, response) => {
    void receive(incoming, response).catch((error: unknown) => {
      const { status, message } = error instanceof Refusal ? error : new Refusal(500, 'internal error');
      send(response, { status, body: message });
    });
  });

  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(incoming);
    const namespace = headerOf(incoming, 'x-vault-namespace');
    const token = headerOf(incoming, 'x-vault-token');
    const [, path = ''] = /^\/v1\/([^?]+)$/.exec(incoming.url ?? '') ?? [];
    if (path === '') throw new Refusal(404);
    if (isSealed) throw new Refusal(503, 'Vault is sealed');
    const within = namespace?.replace(/^\/+|\/+$/g, '') ?? '';
    if (within !== '' && !namespaces.has(within)) throw new Refusal(404, 'namespace not found');
    const route = within === '' ? path : `${within}/${path}`;
    const fields = fieldsOf(incoming, text);
    const [, mount, verb, name] = /^(.+)\/(encrypt|decrypt)\/([^/]+)$/.exec(route) ?? [];
    if (mount === undefined || verb === undefined || name === undefined) {
      if (token !== rootToken) throw new Refusal(403, 'permission denied');
      const done = administer(incoming.method ?? '', route, fields);
      send(response, { status: done === undefined ? 204 : 200, body: done ? JSON.stringify(done) : '' });
      return;
    }
    const key = `${mount}/${name}`;
    requests.push({ verb, key, namespace, token, fields });
    const waiting = hung.get(key);
    if (waiting !== undefined) {
      waiting.add(response);
      return;
    }
    const script = scripted.shift();
    if (script === 'silence') return;
    if (script === 'break') incoming.socket.destroy();
    else if (typeof script === 'object') send(response, script);
    else {
      const right = (): RawAnswer => use(incoming, { key, mount, name, verb, route, token, fields });
      send(response, script === undefined ? right() : script(answerOf(right)));
    }
  }

  interface Use {
    readonly key: string;
    readonly mount: string;
    readonly name: string;
    readonly verb: string;
    readonly route: string;
    readonly token: string | undefined;
    readonly fields: Json;
  }

  function use(incoming: IncomingMessage, { key, mount, name, verb, route, token, fields }: Use): RawAnswer {
    if (token === undefined) throw new Refusal(403, 'permission denied');
    const isNew = verb === 'encrypt' && mounts.has(mount) && !keys.has(key);
    allow(token, route, isNew ? 'create' : 'update');
    if (!mounts.has(mount)) throw new Refusal(404, `no handler for route "${route}". route entry not found.`);
    if (incoming.method !== 'POST' && incoming.method !== 'PUT')
      throw new Refusal(405, wrapped('unsupported operation'));
    if (!NAME.test(name)) throw new Refusal(404, wrapped('unsupported path'));
    const known = [
      'associated_data',
      'context',
      'key_version',
      verb === 'encrypt' ? 'plaintext' : 'ciphertext',
    ];
    const unknown = Object.keys(fields).filter((field) => !known.includes(field));
    if (unknown.length > 0) throw new Refusal(400, `unrecognized parameters: ${unknown.join()}`);
    const data = verb === 'encrypt' ? encrypt(key, fields) : decrypt(key, fields);
    const answer = {
      request_id: randomUUID(),
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      data,
      wrap_info: null,
      warnings: null,
      auth: null,
      mount_type: 'transit',
    };
    return { status: 200, body: `${JSON.stringify(answer)}\n` };
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    endpoint: `http://127.0.0.1:${port}`,
    rootToken,
    requests,
    seal: (sealed) => {
      isSealed = sealed;
    },
    hang(key, hangs) {
      for (const response of hung.get(key) ?? []) response.destroy();
      if (hangs) hung.set(key, new Set());
      else hung.delete(key);
    },
    answerNext(times, answer) {
      for (let i = 0; i < times; i++) scripted.push(answer);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function refuse(words: string): never {
  throw new Refusal(400, words);
}

function answerOf(right: () => RawAnswer): RawAnswer {
  try {
    return right();
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.message };
    throw error;
  }
}

function cipherOf({ type }: Key): { readonly cipher: CipherGCMTypes; readonly bytes: number } {
  const found = CIPHERS[type] ?? refuse(`message encryption not supported for key type ${type}`);
  return found as { readonly cipher: CipherGCMTypes; readonly bytes: number };
}

/** Padded base64 of RFC 4648, in its canonical form. */
function bytesOf(value: unknown, otherwise: string, status = 400): Buffer {
  const bytes = Buffer.from(String(value), 'base64');
  if (bytes.toString('base64') !== value) throw new Refusal(status, otherwise);
  return bytes;
}

function headerOf(incoming: IncomingMessage, name: string): string | undefined {
  const value = incoming.headers[name];
  return typeof value === 'string' ? value : undefined;
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function fieldsOf(incoming: IncomingMessage, text: string): Json {
  if (text === '') return {};
  if (incoming.headers['content-type'] !== 'application/json') throw new Refusal(400, 'expected JSON');
  try {
    const fields: unknown = JSON.parse(text);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return fields as Json;
  } catch {
    // Told below.
  }
  throw new Refusal(400, 'error parsing JSON');
}

/** Reads the rules of a policy: `path "…" { capabilities = ["…"] }`, with comments, and nothing else. */
function rulesOf(hcl: string): readonly Rule[] {
  const rules: Rule[] = [];
  const rest = hcl
    .replaceAll(/^\s*#.*$/gm, '')
    .replaceAll(
      /path\s+"([^"]+)"\s*\{\s*capabilities\s*=\s*\[([^\]]*)\]\s*\}/g,
      (_, path: string, list: string) => {
        const capabilities = list
          .split(',')
          .map((word) => /^\s*"(\w+)"\s*$/.exec(word)?.[1] ?? refuse('bad policy'));
        rules.push({ path, capabilities });
        return '';
      },
    );
  if (rest.trim() !== '') refuse('failed to parse policy');
  return rules;
}

function send(response: ServerResponse, { status, body, headers }: RawAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}
