import type { LocalResources } from '../aws/resources.ts';
import type { S3Server } from '../servers/s3-server.ts';

/**
 * Writes the commands with which a person can use a cloud that goes on, for copying into a shell of the same folder.
 */
export function commandsFor({
  resources,
  storeUrl,
  minio,
  moto,
}: {
  readonly resources: LocalResources;
  /** The store as `SEALED_MEMORY_STORE` takes it. */
  readonly storeUrl: string;
  readonly minio: S3Server;
  /** The endpoint of moto, which believes all credentials. */
  readonly moto: string;
}): string {
  const { turns, replies, deadLetters, rootKeyArn, tenantTable } = resources;
  const signed = `curl -sS --aws-sigv4 aws:amz:${minio.region}:sqs -u "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"`;
  const turn = { tenant: 'acme', turn: 'my-first', prompt: 'What have I asked you to keep?' };
  const receive = '-d Action=ReceiveMessage -d WaitTimeSeconds=20';
  return `# the servers and their credentials
export AWS_ACCESS_KEY_ID=${minio.accessKeyId} AWS_SECRET_ACCESS_KEY=${minio.secretAccessKey} AWS_REGION=${minio.region}
export SEALED_MEMORY_S3_ENDPOINT=${minio.endpoint} AWS_ENDPOINT_URL_KMS=${moto} AWS_ENDPOINT_URL_DYNAMODB=${moto}
# a turn of your own, and its answer
${signed} ${turns.url} -d Action=SendMessage -d MessageGroupId=${turn.tenant} --data-urlencode 'MessageBody=${JSON.stringify(turn)}'; echo
${signed} ${replies.url} ${receive}; echo
# turns that cannot succeed, or failed ten times
${signed} ${deadLetters.url} -d Action=ReceiveMessage; echo
# settings of a tenant of its own, which the worker asks for within five minutes
export SEALED_MEMORY_TENANTS=dynamodb:${tenantTable}
npx sealed-memory --tenant hooli tenant settings set system 'Answer in one sentence.'
npx sealed-memory --tenant hooli tenant settings show
# what a tenant's memory holds, with the root key in the KMS
export SEALED_MEMORY_STORE=${storeUrl} SEALED_MEMORY_ROOT_KEY=aws-kms:${rootKeyArn}
npx sealed-memory --tenant acme tree
npx sealed-memory --tenant acme grep ''
`;
}
