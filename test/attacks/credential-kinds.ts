import {
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { openMemory } from '../../src/open/open-memory.ts';
import type { AttackKind, Attempt } from './attack-kind.ts';
import type { AttackSite } from './attack-site.ts';
import { executeAnew, type Outcome, request } from './outcome.ts';

/** The attacks that a worker of another tenant can try with its own credentials: all of them end at the server. */
export function credentialKinds(site: AttackSite): readonly AttackKind[] {
  const Bucket = site.bucket.bucket;
  const clientOf = ({ entitled, lane }: Attempt): S3Client =>
    entitled ? lane.victim.client : site.intruder.client;
  const keysOf = ({ lane }: Attempt): readonly string[] => [
    lane.one.key,
    lane.two.key,
    lane.below.key,
    lane.victim.layout.keyring,
    `${lane.victim.layout.tenantPrefix}journal/register`,
    lane.victim.layout.probe,
  ];
  /** An object of the victim's that the victim itself has made for this. */
  const scratch = async ({ lane, number, entitled }: Attempt): Promise<string> => {
    const Key = `${lane.victim.layout.tenantPrefix}scratch/${number}`;
    if (entitled) await lane.victim.client.send(new PutObjectCommand({ Bucket, Key, Body: lane.one.sealed }));
    return entitled ? Key : lane.one.key;
  };
  const denied = ['access_denied'];
  const intruders = (attempt: Attempt): string => site.intruder.files.get(attempt.lane.one.path)?.key ?? '';

  return [
    {
      title: 'reads objects of another tenant',
      refusals: denied,
      attempt(attempt) {
        const Key = attempt.chance.pick(keysOf(attempt));
        const client = clientOf(attempt);
        const reads = [
          () => client.send(new GetObjectCommand({ Bucket, Key })),
          () => client.send(new GetObjectCommand({ Bucket, Key, Range: 'bytes=0-11' })),
          () => client.send(new GetObjectCommand({ Bucket, Key, IfNoneMatch: '"0"' })),
          () => client.send(new HeadObjectCommand({ Bucket, Key })),
        ];
        return request(attempt.chance.pick(reads));
      },
    },
    {
      title: 'reads keys of another tenant that do not exist, to learn which do',
      refusals: denied,
      attempt(attempt) {
        const { lane, chance, entitled } = attempt;
        const name = Buffer.from(chance.bytes(32)).toString('base64url');
        const Key = entitled ? lane.one.key : `${lane.victim.layout.data}${name}`;
        const client = clientOf(attempt);
        return request(() => client.send(new HeadObjectCommand({ Bucket, Key })));
      },
    },
    {
      title: 'lists what lies outside its own tenant',
      refusals: denied,
      attempt(attempt) {
        const { lane, chance, entitled } = attempt;
        const { layout } = lane.victim;
        const Prefix = entitled
          ? chance.pick([layout.data, layout.tenantPrefix])
          : chance.pick(['', 'tenants/', 'keyrings/', 'tenants/acme', layout.tenantPrefix, layout.data]);
        const client = clientOf(attempt);
        const listings = [
          () => client.send(new ListObjectsV2Command({ Bucket, Prefix })),
          () => client.send(new ListObjectsV2Command({ Bucket, Prefix, Delimiter: '/' })),
          () => client.send(new ListObjectsCommand({ Bucket, Prefix })),
        ];
        const others = [
          () => client.send(new ListObjectVersionsCommand({ Bucket, Prefix })),
          () => client.send(new ListMultipartUploadsCommand({ Bucket, Prefix })),
        ];
        return request(chance.pick(entitled ? listings : [...listings, ...others]));
      },
    },
    {
      title: 'overwrites objects of another tenant',
      refusals: denied,
      attempt(attempt) {
        const { chance, entitled, lane } = attempt;
        const Key = chance.pick(keysOf(attempt));
        const own = site.originals.get(intruders(attempt)) ?? new Uint8Array();
        const Body = entitled
          ? (site.originals.get(Key) ?? new Uint8Array())
          : chance.pick([own, chance.bytes(300), lane.one.older, new Uint8Array()]);
        const condition = entitled ? {} : chance.pick([{}, { IfNoneMatch: '*' }, { IfMatch: '"0"' }]);
        return request(() =>
          clientOf(attempt).send(new PutObjectCommand({ Bucket, Key, Body, ...condition })),
        );
      },
    },
    {
      title: 'creates objects in the tree of another tenant',
      refusals: denied,
      attempt(attempt) {
        const { lane, number } = attempt;
        const { layout } = lane.victim;
        const place = attempt.chance.pick(['data/new', 'journal/new', 'receipts/new', 'access/new', 'new']);
        const Key = `${layout.tenantPrefix}${place}-${number}`;
        const client = clientOf(attempt);
        return request(() => client.send(new PutObjectCommand({ Bucket, Key, Body: lane.one.sealed })));
      },
    },
    {
      title: 'deletes objects of another tenant',
      refusals: denied,
      async attempt(attempt) {
        const { chance, entitled } = attempt;
        const made = await scratch(attempt);
        const Key = entitled ? made : chance.pick(keysOf(attempt));
        const client = clientOf(attempt);
        if (chance.happens(0.5)) {
          return request(() => client.send(new DeleteObjectCommand({ Bucket, Key })));
        }
        return deleteInBatch(client, Bucket, [Key, entitled ? Key : attempt.lane.two.key]);
      },
    },
    {
      title: 'copies objects of another tenant into its own tree',
      refusals: denied,
      async attempt(attempt) {
        const { lane, number, entitled, chance } = attempt;
        const { layout } = entitled ? lane.victim : site.intruder;
        const source = entitled ? lane.one.key : chance.pick(keysOf(attempt));
        return request(() =>
          clientOf(attempt).send(
            new CopyObjectCommand({
              Bucket,
              CopySource: `${Bucket}/${encodeURIComponent(source)}`,
              Key: `${layout.tenantPrefix}scratch/${number}`,
            }),
          ),
        );
      },
    },
    {
      title: 'copies its own objects over those of another tenant',
      refusals: denied,
      async attempt(attempt) {
        const { lane, entitled, chance, number } = attempt;
        const source = entitled ? lane.one.key : intruders(attempt);
        const Key = entitled
          ? `${lane.victim.layout.tenantPrefix}scratch/${number}`
          : chance.pick(keysOf(attempt));
        const CopySource = `${Bucket}/${encodeURIComponent(source)}`;
        return request(() => clientOf(attempt).send(new CopyObjectCommand({ Bucket, CopySource, Key })));
      },
    },
    {
      title: 'begins an upload in parts to another tenant',
      refusals: denied,
      attempt(attempt) {
        const Key = attempt.chance.pick(keysOf(attempt));
        return request(() => clientOf(attempt).send(new CreateMultipartUploadCommand({ Bucket, Key })));
      },
    },
    {
      title: 'opens the library as another tenant, with the root key they share',
      refusals: denied,
      attempt(attempt) {
        const { lane, entitled, chance } = attempt;
        const { layout, tenant, storeFor } = lane.victim;
        const store = entitled ? storeFor(layout) : site.intruder.storeFor(layout);
        const open = () => openMemory({ store, tenant, rootKey: site.rootKey, lazy: true });
        const { path } = lane.one;
        const view = { command: 'view', path };
        const commands = [
          view,
          { command: 'view', path: '/memories' },
          { command: 'create', path: `${lane.directory}/new.md`, file_text: 'written by another' },
          { command: 'str_replace', path, old_str: 'Secret', new_str: 'Public' },
          { command: 'insert', path, insert_line: 0, insert_text: 'written by another' },
          { command: 'delete', path: chance.pick([path, lane.directory]) },
          { command: 'rename', old_path: path, new_path: `${lane.directory}/moved.md` },
        ];
        return executeAnew(open, entitled ? view : chance.pick(commands));
      },
    },
  ];
}

/** A batch is answered with 200 whatever becomes of its keys: it is refused when every key of it is. */
async function deleteInBatch(client: S3Client, Bucket: string, keys: readonly string[]): Promise<Outcome> {
  const Objects = [...new Set(keys)].map((Key) => ({ Key }));
  let errors: readonly (string | undefined)[] = [];
  const outcome = await request(async () => {
    const answer = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    errors = (answer.Errors ?? []).map(({ Code }) => Code);
    return answer;
  });
  const allDenied = errors.length === Objects.length && errors.every((code) => code === 'AccessDenied');
  return allDenied ? { refusedAs: 'access_denied' } : outcome;
}
