/* The extension module; what it has is described in _codec.pyi. */

#include "parts.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_codec",
    .m_doc = "DynamoDB's JSON to Python values and back, each in one pass.",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit__codec(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddType(module, &JsonItemType) < 0 || PyModule_AddType(module, &AnswerReaderType) < 0 ||
                           PyModule_AddType(module, &AttributesAtHandType) < 0 ||
                           PyModule_AddType(module, &ItemDecoderType) < 0 ||
                           PyModule_AddType(module, &ItemEncoderType) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
