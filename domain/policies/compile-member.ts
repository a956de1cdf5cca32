// Members of entries in a policy. Those that may hold a secret can only be asked for.
import type { ExpressionNode } from '../../schemas/validation/parse-expression.ts';
import { quote } from '../../schemas/validation/path.ts';
import { closest } from '../../schemas/validation/suggest.ts';
import { type Compiled, mistake, type Scope } from './compiled.ts';
import { type Facts, notKnown, written } from './kinds.ts';
import { sayType } from './type.ts';

type Member = Extract<ExpressionNode, { readonly op: '.' }>;

export function compileMember(node: Member, scope: Scope): Compiled {
  const found = compileTo(node, scope);
  if (found.type.is === 'secret')
    throw mistake(
      `${quote(node.args[1])} may hold a secret: has(…) says whether it is there, and nothing says what it is`,
      node,
    );
  return found;
}

/** A member, also one that holds a secret, which the caller must not read. */
export function compileTo(node: Member, scope: Scope): Compiled {
  const [of, name] = node.args;
  const owner = scope.compile(of, scope);
  if (owner.type.is !== 'entry') {
    const asked = owner.type.is === 'list' ? 'a list is asked with exists, all, filter, map, size or in' : undefined;
    throw mistake(asked ?? `${sayType(owner.type)} has no members`, node);
  }
  const { members } = owner.type;
  const type = Object.hasOwn(members, name) ? members[name] : undefined;
  if (type === undefined) {
    const known = Object.keys(members);
    const guess = known.find((each) => each.endsWith(`_${name}`)) ?? closest(name, known);
    const hint = guess === undefined ? `; known: ${known.join(', ')}` : `; did you mean ${quote(guess)}?`;
    throw mistake(`there is no member ${quote(name)}${hint}`, { start: memberStart(node) });
  }
  return {
    type,
    weight: owner.weight + 1,
    read: (run) => {
      const entry = owner.read(run) as Facts | undefined;
      const value = (run.isShowing ? entry?.[written]?.[name] : undefined) ?? entry?.[name];
      if (value !== notKnown) return value;
      run.isUnknown = true;
      return undefined;
    },
  };
}

/** Where the name of the member stands: the node begins with its owner. */
function memberStart({ args: [, name], start, end }: Member): number {
  return typeof end === 'number' ? end - name.length : start;
}
