// Takes all the memory that the process may have for buffers, at SIGUSR2: from then on it refuses requests. Pages that are not written take
// none of the machine.
const mebibyte = 2 ** 20;
const kept: Buffer[] = [];
process.on('SIGUSR2', () => {
  for (let taken = 0; taken < 512; taken += 64) kept.push(Buffer.alloc(64 * mebibyte));
});
