import { type ExpiryConfig, readExpiryConfig } from 'sealed-memory/worker';

const config: ExpiryConfig = readExpiryConfig({
  SEALED_MEMORY_WORKER_EXPIRY_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/111122223333/expiry',
});
console.log(config.expiryQueueUrl, config.expireDryRun);
