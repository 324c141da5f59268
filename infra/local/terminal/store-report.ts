import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { listRecords } from '../../../src/admin/scan.ts';
import { parseClassKey } from '../../../src/format/object-keys.ts';
import { kmsRootKey } from '../../../src/keys/kms/kms-root-key.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import { decodeFields, readRecord } from '../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { RECEIPT_BYTES } from '../../../src/turns/turn-records.ts';
import { MOTO_CREDENTIALS, openMinio } from '../aws/resources.ts';
import type { Cloud } from '../cloud.ts';
import type { S3Server } from '../servers/s3-server.ts';

/** The place in which a store is inspected, with all rights on it. */
export interface StorePlace {
  readonly cloud: Pick<Cloud, 'resources' | 'storeUrl'>;
  readonly minio: S3Server;
  /** The endpoint of moto, which holds the root key. */
  readonly moto: string;
}

/** An object as a reader of the bucket without a key sees it. */
export interface RawObject {
  readonly key: string;
  readonly body: Uint8Array;
}

/** Reads every object of the bucket, in the store's order. */
export async function readBucket({ cloud, minio }: StorePlace): Promise<readonly RawObject[]> {
  const client = openMinio(minio);
  const Bucket = cloud.resources.bucketName;
  try {
    const keys: string[] = [];
    for (let from: string | undefined; ; ) {
      const page = await client.send(new ListObjectsV2Command({ Bucket, ContinuationToken: from }));
      keys.push(...(page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key])));
      from = page.NextContinuationToken;
      if (from === undefined) break;
    }
    const objects: RawObject[] = [];
    for (const Key of keys) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      objects.push({ key: Key, body: (await Body?.transformToByteArray()) ?? new Uint8Array() });
    }
    return objects;
  } finally {
    client.destroy();
  }
}

/** Reads the states of one tenant's receipts, and the number of answers beside them. */
export async function readReceipts(
  { cloud, minio, moto }: StorePlace,
  tenant: string,
): Promise<{ readonly states: readonly string[]; readonly answers: number }> {
  const { endpoint, region, accessKeyId, secretAccessKey } = minio;
  const { parts, close } = await openTenant({
    store: cloud.storeUrl,
    tenant,
    rootKey: kmsRootKey({
      keyArn: cloud.resources.rootKeyArn,
      endpoint: moto,
      credentials: MOTO_CREDENTIALS,
    }),
    s3: { endpoint, region, forcePathStyle: true },
    credentials: { accessKeyId, secretAccessKey },
  });
  try {
    const keyring = await parts.context.keyrings.load();
    if (keyring === undefined) return { states: [], answers: 0 };
    const work: Work = { tenant: parts.context, keyring, call: {} };
    const { records } = await listRecords(work);
    const states: string[] = [];
    for (const { cls, object } of records) {
      const id = cls === 'receipts' ? parseClassKey(work.tenant.layout, object.key)?.id : undefined;
      if (id === undefined) continue;
      const record = await readRecord(work, { cls: 'receipts', id, maxBytes: RECEIPT_BYTES });
      const { state } = (record && decodeFields(record.content)) ?? {};
      // The other records hold the progress of a turn.
      if (state !== undefined) states.push(String(state));
    }
    return { states, answers: records.filter(({ cls }) => cls === 'answers').length };
  } finally {
    await close();
  }
}
