// Sends a thread to one target, so that the prompt cache of the provider stays warm.
import type { Route, Target } from '../../snapshot/snapshot.ts';
import type { Ballot } from './ballot.ts';

/** Longer names of threads are told apart by their beginnings only. Characters. */
const longestThread = 1024;

/** The hash of a target's own name, made once for each. */
const seeds = new WeakMap<Target, number>();

/**
 * Weighted rendezvous hashing: each target draws a number from the thread and its own name, and the best one wins. A target that is added
 * or removed moves only its own share of the threads; one that is not usable leaves its threads to the next in their own order.
 */
export function rankByThread({ targets, weights }: Route, thread: string, ballot: Ballot): void {
  const hash = hashText(thread);
  for (let index = 0; index < targets.length; index += 1) {
    if (!ballot.isUsable(index)) continue;
    const drawn = (mix(hash ^ seedOf(targets[index] as Target)) + 1) / (2 ** 32 + 1);
    // With -ln(u)/weight the least of all is a target's as often as its weight says (Schindelhauer and Schomaker, 2005).
    ballot.keys[index] = -Math.log(drawn) / (weights[index] ?? 1);
  }
}

function seedOf(target: Target): number {
  let seed = seeds.get(target);
  if (seed === undefined) {
    seed = mix(hashText(`${target.upstream.name}/${target.model}`));
    seeds.set(target, seed);
  }
  return seed;
}

/** FNV-1a over the characters, 32 bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length && at < longestThread; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash;
}

/** Spreads every bit over all others (the finalizer of MurmurHash3); from 0 to 2^32 - 1. */
function mix(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
