import { commandSchema, type InputSchema } from 'sealed-memory/schema';

const { oneOf } = commandSchema();
const required = oneOf.map((schema: InputSchema) => schema.required.join(', '));
console.log(required);
