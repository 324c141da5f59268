// What a memory asks of the administration, and the worker with it, in a module of its own: it is loaded when it is needed first.
export { checkpointTree } from '../admin/checkpoints/checkpoint.ts';
export { expireTree } from '../admin/expiry/expire.ts';
export { verifyTree } from '../admin/verify/verify.ts';
export { spareMounted } from './mounted-expiry.ts';
