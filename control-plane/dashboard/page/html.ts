// The template tag that views are written in: HTML with values in it. Values are always text or other views, never markup.
import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';

/** The result of a component. */
export type View = VNode | null;
/** The possible children of an element. */
export type Inside = ComponentChildren;

type Tag = (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

export const html = htm.bind(h) as Tag;
