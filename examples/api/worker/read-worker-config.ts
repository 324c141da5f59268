import { readWorkerConfig, type WorkerConfig } from 'sealed-memory/worker';

const config: WorkerConfig = readWorkerConfig({
  SEALED_MEMORY_WORKER_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/111122223333/turns',
  SEALED_MEMORY_WORKER_MODEL: 'claude-sonnet-5-5',
});
console.log(config.model, config.reply, config.queueUrl);
