// Only compiled: it bundles the functions and is there to deploy them to AWS.
import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { type IVpc, Vpc } from 'aws-cdk-lib/aws-ec2';
import type { BundledFunction, Network, Queues, SealedMemoryProps, WorkerSettings } from 'sealed-memory/cdk';
import { SealedMemory } from 'sealed-memory/cdk';

const stack = new Stack(new App(), 'Assistant');
const vpc: IVpc = Vpc.fromLookup(stack, 'Vpc', { isDefault: true });
const network: Network = { vpc };
const settings: Partial<WorkerSettings> = { model: 'claude-sonnet-5-5', tokensPerDay: 2_000_000 };
const props: SealedMemoryProps = { ...settings, prefix: 'memories', direct: true, network };
const memory = new SealedMemory(stack, 'Memory', props);

const queues: Queues = memory.queues;
const worker: BundledFunction = memory.worker;
new CfnOutput(stack, 'TurnQueueUrl', { value: queues.turns.queueUrl });
new CfnOutput(stack, 'WorkerName', { value: worker.run.functionName });
