import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe } from 'vitest';
import { inTests } from '../../../../infra/local/programs/install-options.ts';
import { startMoto } from '../../../../infra/local/servers/moto.ts';
import { guardDeletes } from '../../../../src/store/guarded-delete.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';
import { isNotRun } from '../../../runner/not-run.ts';

const install = inTests(process.env, (line) => console.log(`S3: ${line}`));
const moto = await startMoto(process.env, install);
const isMissing = isNotRun('The object store on moto', moto);

describe.skipIf(isMissing)(`On moto${'version' in moto ? ` ${moto.version}` : ''}`, () => {
  const place = {
    bucket: 'sealed-memory-test',
    endpoint: 'endpoint' in moto ? moto.endpoint : '',
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'AKIDOFTHETESTS', secretAccessKey: 'secret' },
  };
  beforeAll(async () => {
    const client = new S3Client(place);
    await client.send(new CreateBucketCommand({ Bucket: place.bucket }));
    client.destroy();
  });
  afterAll(async () => {
    if ('stop' in moto) await moto.stop();
  });

  // Through the SDK's client moto keeps as little: it ignores If-Match where an upload in parts is completed.
  describeObjectStore(
    'S3 with guarded deletes, through the client lean',
    () => guardDeletes(openS3ObjectStore({ ...place, client: 'lean' })),
    { lacks: ['atomicity', 'conditions on parts', 'speed'] },
  );
});
