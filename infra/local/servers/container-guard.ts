/**
 * Runs as a process of its own with a test run's id: waits for its input to close, which happens when the process that
 * started it ends in whatever way, then removes the containers labelled with that id.
 */
import { getContainerRuntimeClient } from 'testcontainers';

const run = process.argv[2];
process.stdin.resume();
process.stdin.on('end', async () => {
  const { container } = await getContainerRuntimeClient();
  const left = await container.dockerode.listContainers({
    all: true,
    filters: { label: [`sealed-memory.test-run=${run}`] },
  });
  for (const { Id } of left) await container.getById(Id).remove({ force: true, v: true });
});
