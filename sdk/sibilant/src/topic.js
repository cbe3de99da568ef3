/**
 * A topic with what a program knows about it: how its events get their key, and how old payloads become new ones.
 *
 * Promises: the hub accepts the name; a version has at most one step to the next.
 */

import { isTopicName } from "@promethean/client";

/**
 * @typedef {object} TopicOptions
 * @property {(payload: any) => string | number | undefined} [key] The key of an event that is published without one.
 * @property {number} [version] The newest version of its payloads; 1 by default.
 */

export class Topic {
  /**
   * @param {string} name
   * @param {TopicOptions} [options]
   */
  constructor(name, options = {}) {
    if (!isTopicName(name)) throw new TypeError(`${JSON.stringify(name)} is not a topic's name`);
    const { key, version = 1 } = options;
    if (!Number.isSafeInteger(version) || version < 1) throw new RangeError(`version ${version} of ${name} is no version`);
    /** @readonly */
    this.name = name;
    /** @readonly */
    this.key = key;
    /** @readonly */
    this.version = version;
    /** @type {Map<number, (payload: any) => any>} */
    this.upcasters = new Map();
  }

  /**
   * The step from version `from` to the one after it.
   *
   * @param {number} from
   * @param {(payload: any) => any} step
   * @returns {this}
   */
  upcaster(from, step) {
    if (!Number.isSafeInteger(from) || from < 1 || from >= this.version) {
      throw new RangeError(`${this.name} has versions up to ${this.version}; there is no step from ${from}`);
    }
    if (this.upcasters.has(from)) throw new Error(`${this.name} has a step from version ${from} already`);
    this.upcasters.set(from, step);
    return this;
  }

  toString() {
    return this.name;
  }
}

/**
 * @param {string} name
 * @param {TopicOptions} [options]
 */
export function defineTopic(name, options) {
  return new Topic(name, options);
}

/**
 * @param {Topic | string} topic
 * @returns {string}
 */
export function nameOf(topic) {
  return typeof topic === "string" ? topic : topic.name;
}
