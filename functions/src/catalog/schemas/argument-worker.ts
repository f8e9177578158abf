import { answerQuestions } from './answer-questions.ts'
import { createValidateArguments } from './validate-arguments.ts'

// The main program of the process that `ArgumentValidator` starts. A question is a definition and the arguments to check.
answerQuestions(createValidateArguments())
