// The parts of a store in a bucket, in a module of their own: it is loaded when one is opened.

export { checkConditions } from './conditions.ts';
export { guardDeletes } from './guarded-delete.ts';
export { openS3Connections } from './s3/connection.ts';
export { openS3ObjectStore } from './s3/s3-store.ts';
export { buryOldTombstones } from './tombstones.ts';
